// information_schema.CAIRN_STALLS: what slows writes down or stops them now, what would end it, and
// what did so in the last hour; and damaged files, above which nothing is compacted.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/monitor/stall_remedy.h"
#include "engine/store/damaged_files.h"
#include "engine/store/write_stalls.h"
#include "mariadb/information_schema/schema_table.h"
#include "mariadb/table_name.h"
#include "mariadb/variables.h"

namespace cairn {
namespace {

constexpr uint kStateWidth = 16;
constexpr uint kCauseWidth = 32;
constexpr uint kFractionDigits = 3;
constexpr double kSecondUs = 1e6;

ST_FIELD_INFO columns[] = {Show::Column("STATE", Show::Varchar(kStateWidth), NOT_NULL),
                           Show::Column("CAUSE", Show::Varchar(kCauseWidth), NOT_NULL),
                           Show::Column("COLUMN_FAMILY", Show::Varchar(kNameWidth), NULLABLE),
                           Show::Column("VALUE", Show::ULonglong(), NULLABLE),
                           Show::Column("THRESHOLD", Show::ULonglong(), NULLABLE),
                           Show::Column("STARTED", Show::Datetime(kFractionDigits), NULLABLE),
                           Show::Column("ENDED", Show::Datetime(kFractionDigits), NULLABLE),
                           Show::Column("SECONDS", Show::Decimal(kSecondsDigits), NULLABLE),
                           Show::Column("REMEDY", Show::Varchar(kLongWidth), NULLABLE),
                           Show::CEnd()};

const char* NameOf(StallCause cause) {
  switch (cause) {
    case StallCause::kMemtables:
      return "memtables";
    case StallCause::kLevelZeroFiles:
      return "level-0 files";
    case StallCause::kPendingCompaction:
      return "pending compaction bytes";
  }
  return "";
}

bool SendStall(const WriteStall& stall, int64_t now_us, const StallSituation& situation,
               SchemaTableWriter* writer) {
  writer->Text(stall.kind == StallKind::kStopped ? "stopped" : "slowed").Text(NameOf(stall.cause));
  writer->Text(stall.family);
  if (stall.limit == 0) {  // Too short to be looked at.
    writer->Null().Null();
  } else {
    writer->Unsigned(stall.value).Unsigned(stall.limit);
  }
  writer->Time(stall.begin_us);
  if (stall.end_us.has_value()) {
    writer->Time(*stall.end_us);
  } else {
    writer->Null();
  }
  writer->Real(static_cast<double>(stall.end_us.value_or(now_us) - stall.begin_us) / kSecondUs);
  if (stall.end_us.has_value()) {
    writer->Null();
  } else {
    writer->Text(DescribeRemedy(stall, situation));
  }
  return writer->Send();
}

bool SendRateLimit(const RateLimiterWait& wait, SchemaTableWriter* writer) {
  writer->Text("limited").Text("rate limiter").Null();
  writer->Unsigned(wait.waiting).Unsigned(wait.bytes_per_s).Null().Null().Null();
  return writer->Text(DescribeRateLimit(wait)).Send();
}

// The indexes that have entries in a file, or may have, as "test.t1 (k), test.t2": only so many.
std::string IndexesIn(Engine* engine, const ColumnFamily& family,
                      const rocksdb::LiveFileMetaData& file) {
  constexpr size_t kMostNamed = 5;
  if (family.id == engine->database().system_family().id) return "the data dictionary";
  const auto number = [](const std::string& key) {
    return key.size() < sizeof(uint32_t) ? 0 : LoadBigEndian<uint32_t>(key.data());
  };
  const auto [first, last] = std::minmax({number(file.smallestkey), number(file.largestkey)});
  std::vector<std::string> names;
  for (const auto& table : engine->dictionary().Tables()) {
    for (const IndexDefinition& index : table->indexes) {
      const uint32_t own = index.id.index_number;
      if (index.id.column_family != family.id || own < first || own > last) continue;
      const auto known = engine->database().key_layouts().Find(index.id);
      names.push_back(DescribeTableName(table->name) +
                      (known == nullptr ? "" : " (" + known->layout().name + ")"));
    }
  }
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNamed) {
    text += " and " + std::to_string(names.size() - kMostNamed) + " more";
  }
  return text.empty() ? "dropped tables alone" : text;
}

std::string DamageRemedy(Engine* engine, const DamagedFile& damage, const ColumnFamily* family,
                         const rocksdb::LiveFileMetaData* file) {
  std::string text = damage.text;
  if (file != nullptr && family != nullptr) {
    text = damage.name + " of level " + std::to_string(file->level) + " holds entries of " +
           IndexesIn(engine, *family, *file) + "; " + text;
  }
  return text +
         ". Compactions leave it and what lies above it; CHECK TABLE shows what cannot be read. "
         "Save what can be, then DROP the table or index, or restore it from a backup";
}

// A file that compactions cannot read, unless it is gone.
bool SendDamage(Engine* engine, const DamagedFile& damage,
                const std::vector<rocksdb::LiveFileMetaData>& files, int64_t now_us,
                SchemaTableWriter* writer) {
  const auto file = std::find_if(files.begin(), files.end(), [&](const auto& each) {
    return !damage.name.empty() && each.name.ends_with(damage.name);
  });
  if (file == files.end() && !damage.name.empty()) return true;
  const rocksdb::LiveFileMetaData* const found = file == files.end() ? nullptr : &*file;
  const ColumnFamily* const family =
      found == nullptr ? nullptr : engine->database().families().Find(found->column_family_name);
  writer->Text("damaged").Text("damaged file");
  writer->TextOrNull(found == nullptr ? std::string() : found->column_family_name);
  writer->Unsigned(damage.attempts).Null().Time(damage.found_us).Null();
  writer->Real(static_cast<double>(now_us - damage.found_us) / kSecondUs);
  return writer->Text(DamageRemedy(engine, damage, family, found)).Send();
}

bool SendDamages(Engine* engine, int64_t now_us, SchemaTableWriter* writer) {
  const std::vector<DamagedFile> damages = engine->database().damaged_files().List();
  if (damages.empty()) return true;
  std::vector<rocksdb::LiveFileMetaData> files;
  engine->database().rocksdb()->GetLiveFilesMetaData(&files);
  return std::all_of(damages.begin(), damages.end(), [&](const DamagedFile& damage) {
    return SendDamage(engine, damage, files, now_us, writer);
  });
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  const std::vector<WriteStall> stalls = database.write_stalls().List();
  const int64_t now_us = database.NowMicros();
  StallSituation situation = ReadStallSituation(database);
  situation.paused = global_variables.pause_background_work;
  const RateLimiterWait wait = ReadRateLimiterWait(database);
  if (!SendDamages(engine, now_us, writer)) return false;
  if (wait.waiting > 0 && !SendRateLimit(wait, writer)) return false;
  for (const WriteStall& stall : stalls) {
    if (!SendStall(stall, now_us, situation, writer)) return false;
  }
  return true;
}

}  // namespace

int InitStalls(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
