"""The part `alters`: chains of ALTER TABLE, compared with copies that InnoDB makes."""
