// information_schema.ROCKSDB_TRX: one row for each transaction that has started and not ended.
#include <string>

#include "engine/base/bytes.h"
#include "engine/txn/transaction_id.h"
#include "mariadb/information_schema/schema_table.h"
#include "sql_acl.h"

namespace cairn {
namespace {

ST_FIELD_INFO columns[] = {Show::Column("TRANSACTION_ID", Show::SLonglong(), NOT_NULL),
                           Show::Column("STATE", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("NAME", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::Column("WRITE_COUNT", Show::SLonglong(), NOT_NULL),
                           Show::Column("LOCK_COUNT", Show::SLonglong(), NOT_NULL),
                           Show::Column("TIMEOUT_SEC", Show::SLong(), NOT_NULL),
                           Show::Column("WAITING_KEY", Show::Varchar(kLongWidth), NOT_NULL),
                           Show::Column("WAITING_COLUMN_FAMILY_ID", Show::SLong(), NOT_NULL),
                           Show::Column("IS_REPLICATION", Show::SLong(), NOT_NULL),
                           Show::Column("SKIP_TRX_API", Show::SLong(), NOT_NULL),
                           Show::Column("READ_ONLY", Show::SLong(), NOT_NULL),
                           Show::Column("HAS_DEADLOCK_DETECTION", Show::SLong(), NOT_NULL),
                           Show::Column("NUM_ONGOING_BULKLOAD", Show::SLong(), NOT_NULL),
                           Show::Column("THREAD_ID", Show::SLong(), NOT_NULL),
                           Show::Column("QUERY", Show::Varchar(kNameWidth), NOT_NULL),
                           Show::CEnd()};

std::string_view NameOf(TransactionState state) {
  switch (state) {
    case TransactionState::kIdle:
      break;
    case TransactionState::kStarted:
      return "STARTED";
    case TransactionState::kAwaitingPrepare:
      return "AWAITING_PREPARE";
    case TransactionState::kPrepared:
      return "PREPARED";
    case TransactionState::kAwaitingCommit:
      return "AWAITING_COMMIT";
    case TransactionState::kAwaitingRollback:
      return "AWAITING_ROLLBACK";
  }
  return "";
}

// A part of a transaction's id as one would write it after XA START.
std::string QuoteIdPart(const std::string& part) {
  for (const char c : part) {
    if (c < ' ' || c > '~' || c == '\'' || c == '\\') return "X'" + ToHex(part) + "'";
  }
  return "'" + part + "'";
}

// "'global','branch',format", or nothing for a transaction that was not prepared.
std::string DescribeName(const std::string& name) {
  if (name.empty()) return name;
  const auto id = DecodeTransactionName(name);
  if (!id.ok()) return ToHex(name);
  return QuoteIdPart(id->global) + "," + QuoteIdPart(id->branch) + "," + std::to_string(id->format);
}

bool Fill(Engine* engine, SchemaTableWriter* writer) {
  // What other people's statements say is nobody's business without the privilege to see it in SHOW
  // PROCESSLIST.
  const bool sees_all = !check_global_access(writer->thd(), PROCESS_ACL, /*no_errors=*/true);
  const uint64_t own_thread = thd_get_thread_id(writer->thd());
  for (const SessionDescription& session : engine->sessions().Describe()) {
    const TransactionDescription& transaction = session.transaction;
    if (transaction.state == TransactionState::kIdle) continue;
    writer->Unsigned(transaction.traits.id).Text(NameOf(transaction.state));
    writer->Text(DescribeName(transaction.name));
    writer->Unsigned(transaction.write_count).Unsigned(transaction.lock_count);
    writer->Number(transaction.traits.lock_wait_timeout_ms / 1000);
    if (transaction.waits_for.has_value()) {
      writer->Keys(*transaction.waits_for).Number(transaction.waits_for->family);
    } else {
      writer->Text("").Number(0);
    }
    writer->Number(session.is_replication);
    writer->Number(session.skips_transaction_api).Number(session.read_only);
    writer->Number(transaction.traits.deadlock_detect).Number(session.bulk_loads);
    writer->Unsigned(session.thread_id);
    const bool sees_query = sees_all || session.thread_id == own_thread;
    if (!writer->Text(sees_query ? session.query : std::string()).Send()) return false;
  }
  return true;
}

}  // namespace

int InitTransactions(void* plugin) { return DeclareSchemaTable<Fill>(plugin, columns); }

}  // namespace cairn
