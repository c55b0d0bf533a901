// Positions of rows: what the server keeps of a row to compare it with others and to read it again.
#include "engine/base/bytes.h"
#include "engine/codec/index_codec.h"
#include "mariadb/ha_rocksdb.h"
#include "mariadb/statement_plan.h"

void ha_rocksdb::position(const uchar* record) {
  if (positions_.are_images) {
    KEY* const key = &table->key_info[table->s->primary_key];
    key_copy(ref, record, key, key->key_length);
    return;
  }
  const auto key = cursor_->PrimaryKey();
  if (key.ok()) return SetPosition(*key);
  if (!engine_table_->has_hidden_key()) {
    // The server has made the record itself: a replica looks for the row that the binary log
    // describes.
    engine_table_->primary().codec->EncodeKey(record, /*hidden_key=*/0, &search_.key,
                                              &positions_.unpack_info);
    return SetPosition(search_.key);
  }
  // The server asks only after a read; rnd_pos will find no row there.
  sql_print_error("RocksDB: table %s: no position: %s", dictionary_name_.c_str(),
                  key.status().ToString().c_str());
  bzero(ref, ref_length);
}

// Where positions are no images.
void ha_rocksdb::SetPosition(std::string_view primary_key) {
  const std::string_view bytes = primary_key.substr(cairn::kIndexNumberBytes);
  memcpy(ref, bytes.data(), bytes.size());
  if (engine_table_->has_hidden_key()) return;
  bzero(ref + bytes.size(), ref_length - bytes.size());
  int4store(ref + ref_length - kPositionLengthBytes, static_cast<uint32>(bytes.size()));
}

// As the primary key orders its rows, DESC parts included: the server merges scans of several
// indexes by the positions of their rows, which come in that order.
int ha_rocksdb::cmp_ref(const uchar* position, const uchar* other) {
  if (!positions_.are_images) return memcmp(position, other, ref_length);
  const KEY& key = table->key_info[table->s->primary_key];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    const int order = part.field->key_cmp(position, other);
    if (order != 0) return (part.key_part_flag & HA_REVERSE_SORT) != 0 ? -order : order;
    position += part.store_length;
    other += part.store_length;
  }
  return 0;
}

int ha_rocksdb::rnd_pos(uchar* record, uchar* position) {
  const cairn::IndexCodec& codec = *engine_table_->primary().codec;
  if (positions_.are_images) {
    codec.EncodeSearchKey(position, static_cast<uint32_t>(codec.layout().parts.size()),
                          &search_.key);
  } else {
    const size_t key_bytes = engine_table_->has_hidden_key()
                                 ? ref_length
                                 : uint4korr(position + ref_length - kPositionLengthBytes);
    search_.key.clear();
    cairn::AppendBigEndian(engine_table_->primary().definition.id.index_number, &search_.key);
    search_.key.append(reinterpret_cast<const char*>(position), key_bytes);
  }
  // By such a position the server reads the row that a key of its own has found in the way.
  conflict_.reads_duplicate =
      cairn::ChangesDuplicates(ha_thd()) && table->file->lookup_errkey != static_cast<uint>(-1);
  const int error = ReadSoughtRow(record);
  conflict_.reads_duplicate = false;
  return error;
}
