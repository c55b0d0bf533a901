# Of an error log: the messages of the engine, without times and without what differs from run to run.
s,^.*\[(Note|Warning|ERROR)\] ((RocksDB|MyRocks|LibRocksDB|CAUTION).*),\1: \2,
t ours
d
:ours
s,[^ ('=]*/mysqld.1/,,g
s,[^ ('=]*/tmp/error_log,DIR,g
s,#rocksdb/[^ ]*_[0-9]+_([0-9]+).bulk_load.tmp,FILE_\1,g
s,file size: [0-9]+,file size: N,
s,cairn_[0-9a-f_]+,cairn_N,g
s,(key:? )0000....,\1INDEX,g
s,\([0-9]+\,[0-9]+\),(FAMILY\,INDEX),
s,id [0-9]+ cf,id N cf,
s,(table [^ ]+\, index `[^`]+` )\([0-9]+\),\1(INDEX),g
s,for index 0x[0-9a-f]+,for index 0xN,
s,max index id [0-9]+,max index id N,
