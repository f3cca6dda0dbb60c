// The Lua scripts of the Redis form. Each one is one atomic step of the server.
import { batch, takenMs } from "./batch-script.ts";
import { forgetRecords, recordScripts } from "./record-scripts.ts";
import { common, sessionScripts } from "./session-scripts.ts";

const claim = `${common}
local m = KEYS[1]
local node, gone, keepMs = ARGV[1], ARGV[2], ARGV[3]
local v = redis.call('HMGET', m, 'e', 'o', 'f')
local owner = v[2]
if owner and owner ~= '' and owner ~= node and owner ~= gone then return {0, owner} end
local fence = v[3]
if owner ~= node or not fence then fence = redis.call('HINCRBY', m, 'f', 1) end
redis.call('HSET', m, 'o', node)
-- Nothing more follows of the answers that the former owner worked on.
if gone ~= '' and owner == gone then redis.call('SPUBLISH', KEYS[7], '{"t":"interrupted"}\\n') end
if redis.call('HLEN', m) > 64 then
  for _, field in ipairs(redis.call('HKEYS', m)) do
    if string.sub(field, 1, 2) == 'n:' then redis.call('HDEL', m, field) end
  end
  redis.call('HDEL', m, 'na')
end
if not v[1] then redis.call('PEXPIRE', m, keepMs) end
return {1, tostring(fence)}
`;

const release = `
local v = redis.call('HMGET', KEYS[1], 'o', 'f')
if v[1] == ARGV[1] and v[2] == ARGV[2] then redis.call('HSET', KEYS[1], 'o', '') end
return 1
`;

/** Ids that are read together; beyond them, the one of a message is looked up. */
const maxKnown = 128;

/** Ids of deleted messages that are kept, of all sessions. */
const maxDeleted = 65_536;

/*
 * The sorted set of deleted ids has an HMAC of each, by the time of the deletion. `m` has in
 * `dd` the time of the last deletion of its session: until ids of it expire, each id is looked up.
 */
const keepDeleted = `
local function keepDeleted(m, name, first)
  local time = now()
  redis.call('HSET', m, 'dd', time)
  for at = first, #ARGV do redis.call('ZADD', name, time, ARGV[at]) end
  redis.call('ZREMRANGEBYSCORE', name, '-inf', time - ${takenMs})
  redis.call('ZREMRANGEBYRANK', name, 0, -${maxDeleted + 1})
  redis.call('PEXPIRE', name, ${takenMs})
end
`;

/** ARGV: id, set of deleted ids, HMAC of the id. */
const known = `${common}
local time, deletedAt = now(), redis.call('HGET', KEYS[1], 'dd')
local hasDeleted = deletedAt and tonumber(deletedAt) + ${takenMs} > time
if not hasDeleted and redis.call('HLEN', KEYS[4]) <= ${maxKnown} then
  return {time, 1, redis.call('HGETALL', KEYS[4])}
end
local value = redis.call('HGET', KEYS[4], ARGV[1])
local at = hasDeleted and not value and redis.call('ZSCORE', ARGV[2], ARGV[3])
if at then value = string.format('%d', at) .. 's:' end
return {time, 0, value and {ARGV[1], value} or {}}
`;

const ids = "return redis.call('HKEYS', KEYS[4])";

/** ARGV: milliseconds that a session is kept, set of deleted ids, HMAC of an id. */
const discard = `${common}${keepDeleted}
keepDeleted(KEYS[1], ARGV[2], 3)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
`;

/** ARGV: creation id, title, field: `nm` of a person, `ti` of the application. */
const rename = `
local v = redis.call('HMGET', KEYS[1], 'c', 'ca')
if v[1] ~= ARGV[1] or not v[2] then return 0 end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[3])
else
  redis.call('HSET', KEYS[1], ARGV[3], ARGV[2])
end
return 1
`;

/**
 * ARGV: creation id, sk, this node, milliseconds that a session is kept, channel of all nodes, hash
 * of questions, number of ids of the session, set of deleted ids, start of the names of records,
 * HMACs of the ids. The owner keeps the session with a new fence. Writes with the old one are
 * rejected.
 *
 * @returns The new fence; 0 if there is no such conversation; -1 if the session has other ids.
 */
const forget = `${common}${keepDeleted}${forgetRecords}
local m = KEYS[1]
local v = redis.call('HMGET', m, 'c', 'ca', 'o', 'f', 'ad')
if v[1] ~= ARGV[1] or not v[2] then return 0 end
if redis.call('HLEN', KEYS[4]) ~= tonumber(ARGV[7]) then return -1 end
local deletedAt = redis.call('HGET', m, 'dd')
redis.call('DEL', m, KEYS[2], KEYS[3], KEYS[4], key(m, 'e'), key(m, 'a'))
redis.call('ZREM', KEYS[6], ARGV[2])
redis.call('ZREM', string.sub(ARGV[6], 1, -2) .. 'lost', ARGV[2])
for _, field in ipairs(redis.call('HKEYS', ARGV[6])) do
  if string.sub(field, 1, #ARGV[2] + 1) == ARGV[2] .. ':' then
    redis.call('HDEL', ARGV[6], field)
  end
end
local former = tonumber(v[4] or '0')
redis.call('HSET', m, 'o', v[3] or '', 'f', former + 1, 'd', former)
if deletedAt then redis.call('HSET', m, 'dd', deletedAt) end
if #ARGV > 9 then keepDeleted(m, ARGV[8], 10) end
forgetRecords(ARGV[9], ARGV[2], ARGV[5])
redis.call('PEXPIRE', m, ARGV[4])
redis.call('SPUBLISH', KEYS[7], '{"t":"renewed"}\\n')
redis.call('SPUBLISH', ARGV[5], '{"t":"forgotten","n":"' .. ARGV[3] .. '","k":"' .. ARGV[2]
  .. '","f":' .. (former + 1) .. ',"a":' .. (v[5] or 'null') .. '}')
return former + 1
`;

const summary = `
local fields = redis.pcall('HMGET', KEYS[1], 'c', 'ad', 'ti', 'nm', 'ca', 'ua', 'tu', 'dt')
if fields.err then return {} end
return fields
`;

/** The latest entries of each session, for the preview of a list: enough for most messages. */
const maxPreviewEntries = 8;
const maxPreviewBytes = 65_536;

/**
 * Keys: index. ARGV: highest score, sessions to skip at that score, count, milliseconds that
 * sessions are kept, prefix. Removes expired sessions from the index, never by a node's clock.
 */
const list = `
local count, rows = tonumber(ARGV[3]), {}
local keyOf = function(sk, letter) return ARGV[5] .. '{' .. sk .. '}:' .. letter end
local isGone = function(sk) return redis.call('EXISTS', keyOf(sk, 'm')) == 0 end
local time = redis.call('TIME')
local oldest = time[1] * 1000 - ARGV[4]
for _, sk in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. oldest, 'LIMIT', 0, 100)) do
  if isGone(sk) then redis.call('ZREM', KEYS[1], sk) end
end
for _ = 1, 20 do
  local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT',
    ARGV[2] + #rows, count - #rows)
  local isComplete = true
  for at = 1, #found, 2 do
    local sk = found[at]
    if isGone(sk) then
      redis.call('ZREM', KEYS[1], sk)
      isComplete = false
    else
      local latest, bytes = {}, 0
      for _, entry in ipairs(redis.pcall('XREVRANGE', keyOf(sk, 'h'), '+', '-',
        'COUNT', ${maxPreviewEntries})) do
        bytes = bytes + string.len(entry[2][4] or '')
        if bytes > ${maxPreviewBytes} then break end
        table.insert(latest, 1, entry)
      end
      local fields = redis.pcall('HMGET', keyOf(sk, 'm'), 'c', 'ad', 'ti', 'nm', 'ca', 'ua', 'tu',
        'dt')
      if fields.err then fields = {} end
      rows[#rows + 1] = {sk, found[at + 1], fields, latest}
    end
  end
  if isComplete then break end
end
return rows
`;

/**
 * Keys: k (fingerprint of the secret), g (lineage). Checks the secret, and begins a new lineage if
 * this server was promoted or has started again, and may lack writes.
 */
const join = `
local known = redis.call('GET', KEYS[1])
if known and known ~= ARGV[1] then return redis.error_reply('OTHERSECRET') end
if not known then redis.call('SET', KEYS[1], ARGV[1]) end
local v = redis.call('HMGET', KEYS[2], 'id', 'r')
local isPromoted = v[1] and v[1] ~= ARGV[2] and ARGV[3] ~= '-'
local lost = 0
if isPromoted or (v[2] and v[2] ~= '' and ARGV[4] ~= '' and v[2] ~= ARGV[4]) then
  redis.call('HINCRBY', KEYS[2], 'l', 1)
  lost = 1
end
redis.call('HSET', KEYS[2], 'id', ARGV[2], 'r', ARGV[4])
redis.call('HSETNX', KEYS[2], 'l', 0)
return {known and 1 or 0, lost}
`;

/** Keys: g, channel of all nodes. Tells whether the data was deleted. */
const beat = `
redis.call('SPUBLISH', KEYS[2], ARGV[1])
return redis.call('EXISTS', KEYS[1])
`;

/**
 * Keys: t (tokens), channel of all nodes. An unknown token replaces the current one; a replaced one
 * gives way to it.
 */
const token = `
local name, digest, sealed, notice = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local stored = redis.call('HGET', KEYS[1], name)
local record = stored and cjson.decode(stored) or {version = 0, former = {}}
if digest == '' or digest == record.digest then
  return {record.version, record.sealed or false, 0}
end
for _, former in ipairs(record.former) do
  if former == digest then return {record.version, record.sealed, 0} end
end
if record.digest then table.insert(record.former, record.digest) end
while #record.former > 64 do table.remove(record.former, 1) end
record.digest, record.sealed, record.version = digest, sealed, record.version + 1
redis.call('HSET', KEYS[1], name, cjson.encode(record))
if notice ~= '' then redis.call('SPUBLISH', KEYS[2], notice) end
return {record.version, sealed, 1}
`;

/** Keys: questions. ARGV: the session of the questions, or empty for all. */
const questions = `
if ARGV[1] == '' then return redis.call('HGETALL', KEYS[1]) end
local rows = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, #ARGV[1] + 1) == ARGV[1] .. ':' then
    rows[#rows + 1], rows[#rows + 2] = field, redis.call('HGET', KEYS[1], field)
  end
end
return rows
`;

/** Keys: times of lost questions. ARGV: since, start of all keys. Returns addresses as JSON. */
const lost = `
local found = {}
for _, sk in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'LIMIT', 0, 2000)) do
  local address = redis.pcall('HGET', ARGV[2] .. '{' .. sk .. '}:m', 'ad')
  if type(address) == 'string' then found[#found + 1] = address end
end
return found
`;

export const scripts = {
  ...sessionScripts,
  ...recordScripts,
  questions,
  lost,
  batch,
  claim,
  release,
  known,
  ids,
  discard,
  rename,
  forget,
  summary,
  list,
  join,
  beat,
  token,
} as const;

export type ScriptName = keyof typeof scripts;
