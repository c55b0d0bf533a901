// Private members of RocksDB's classes, which an explicit instantiation may name all the same. The
// tag lies in this namespace, too:
//
//   struct SizeTag {
//     friend auto MemberOf(SizeTag);
//   };
//   template struct PrivateMember<SizeTag, &rocksdb::Cache::size_>;
//   ... cache.*MemberOf(SizeTag()) ...
#pragma once

namespace cairn::lsm {

template <typename Tag, auto member>
struct PrivateMember {
  friend auto MemberOf(Tag) { return member; }
};

}  // namespace cairn::lsm
