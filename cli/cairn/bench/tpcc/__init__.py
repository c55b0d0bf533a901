"""TPC-C on a slow disk with little memory; the transactions are Lua scripts for sysbench."""
