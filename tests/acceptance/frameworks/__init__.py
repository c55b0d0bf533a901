"""./cairn acceptance django, alembic, knex, gorm: suites of others on InnoDB and on ROCKSDB."""
