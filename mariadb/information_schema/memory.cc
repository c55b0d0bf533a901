// information_schema.CAIRN_MEMORY: the engine's memory by role, its sum, and what allocator and
// process have.
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "engine/monitor/memory_use.h"
#include "mariadb/information_schema/schema_table.h"
#include "sql_acl.h"

namespace cairn {
namespace {

constexpr uint kKindWidth = 16;
constexpr uint kRoleWidth = 64;

ST_FIELD_INFO columns[] = {Show::Column("KIND", Show::Varchar(kKindWidth), NOT_NULL),
                           Show::Column("ROLE", Show::Varchar(kRoleWidth), NOT_NULL),
                           Show::Column("BYTES", Show::ULonglong(), NOT_NULL),
                           Show::Column("DETAIL", Show::Varchar(kLongWidth), NULLABLE),
                           Show::CEnd()};

struct AllocatorFigures {
  std::string name;
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;  // Kept for later use.
};

// jemalloc replaces the C library's allocator in servers that are started with it.
std::optional<AllocatorFigures> ReadJemalloc() {
  using Control = int (*)(const char*, void*, size_t*, void*, size_t);
  const auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT, "mallctl"));
  if (control == nullptr) return std::nullopt;
  uint64_t epoch = 1;
  size_t epoch_size = sizeof(epoch);
  control("epoch", &epoch, &epoch_size, &epoch, epoch_size);
  const auto read = [control](const char* figure) {
    size_t value = 0;
    size_t size = sizeof(value);
    return control(figure, &value, &size, nullptr, 0) == 0 ? value : size_t{0};
  };
  AllocatorFigures figures;
  figures.name = "jemalloc";
  figures.used_bytes = read("stats.allocated");
  const uint64_t resident = read("stats.resident");
  figures.free_bytes = resident > figures.used_bytes ? resident - figures.used_bytes : 0;
  return figures;
}

AllocatorFigures ReadAllocator() {
  if (const auto jemalloc = ReadJemalloc()) return *jemalloc;
  const struct mallinfo2 info = mallinfo2();
  AllocatorFigures figures;
  figures.name = "the C library's";
  figures.used_bytes = info.uordblks + info.hblkhd;
  figures.free_bytes = info.fordblks;
  return figures;
}

uint64_t ResidentBytes() {
  unsigned long long all = 0;
  unsigned long long resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Definitions of tables and the statistics of their indexes.
MemoryFigure DictionaryMemory(const Dictionary& dictionary) {
  // A node of a map, beside its content.
  constexpr uint64_t kNodeBytes = 64;
  uint64_t bytes = 0;
  uint64_t tables = 0;
  for (const auto& table : dictionary.Tables()) {
    ++tables;
    bytes += sizeof(TableDefinition) + sizeof(TableCounters) + kNodeBytes + 2 * table->name.size();
    // The codec of an opened table, its files' sums and what the dictionary last saved of them.
    bytes += table->indexes.size() *
             (sizeof(IndexDefinition) + 2 * sizeof(IndexStatistics) + kNodeBytes);
  }
  return {"data dictionary", bytes, std::to_string(tables) + " tables and partitions; estimated"};
}

// Definitions of foreign keys, which the dictionary has in several maps, and what open tables keep
// of theirs.
MemoryFigure ForeignKeyMemory(Engine* engine) {
  constexpr uint64_t kMaps = 4;
  constexpr uint64_t kNodeBytes = 64;
  uint64_t bytes = engine->database().memory_accounts().Bytes(MemoryPart::kForeignKeys);
  const auto all = engine->dictionary().foreign_keys().All();
  for (const auto& key : all) {
    const ForeignKeyRecord& record = key->record;
    uint64_t names = record.name.size() + record.child.size() + record.parent.size();
    for (const auto& [child, parent] : record.columns) names += child.size() + parent.size();
    bytes += sizeof(ForeignKey) + sizeof(ForeignKeyCounters) + sizeof(ForeignKeyRecord) +
             kMaps * kNodeBytes + 2 * names +
             2 * record.columns.size() * sizeof(ForeignKeyRecord::ColumnPair);
  }
  return {"foreign keys", bytes, std::to_string(all.size()) + " definitions; estimated"};
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  if (check_global_access(writer->thd(), PROCESS_ACL, /*no_errors=*/true)) return true;
  std::vector<MemoryFigure> parts = ListMemory(engine->database());
  parts.push_back(DictionaryMemory(engine->dictionary()));
  parts.push_back(ForeignKeyMemory(engine));
  const auto send = [writer](const char* kind, const MemoryFigure& figure) {
    writer->Text(kind).Text(figure.role).Unsigned(figure.bytes).TextOrNull(figure.detail);
    return writer->Send();
  };
  uint64_t sum = 0;
  for (const MemoryFigure& part : parts) {
    sum += part.bytes;
    if (!send("part", part)) return false;
  }
  const AllocatorFigures allocator = ReadAllocator();
  return send("total", {"sum of the parts", sum, ""}) &&
         send("total", {"allocator: in use", allocator.used_bytes,
                        allocator.name + "; the whole server without most memtables"}) &&
         send("total",
              {"allocator: free", allocator.free_bytes, "kept by the allocator for later use"}) &&
         send("total", {"process: resident", ResidentBytes(), "the whole server"});
}

}  // namespace

int InitMemory(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
