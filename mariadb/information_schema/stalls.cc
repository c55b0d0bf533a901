// information_schema.CAIRN_STALLS: what slows writes down or stops them now, what would end it, and what did so
// in the last hour.
#include "engine/store/stall_remedy.h"
#include "engine/store/write_stalls.h"
#include "mariadb/information_schema/schema_table.h"
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

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  const Database& database = engine->database();
  const std::vector<WriteStall> stalls = database.write_stalls().List();
  const int64_t now_us = database.NowMicros();
  StallSituation situation = ReadStallSituation(database);
  situation.paused = global_variables.pause_background_work;
  const RateLimiterWait wait = ReadRateLimiterWait(database);
  if (wait.waiting > 0 && !SendRateLimit(wait, writer)) return false;
  for (const WriteStall& stall : stalls) {
    if (!SendStall(stall, now_us, situation, writer)) return false;
  }
  return true;
}

}  // namespace

int InitStalls(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
