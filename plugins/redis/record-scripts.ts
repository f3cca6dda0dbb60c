// The Lua scripts of records: one hash for each collection, and one sorted set of those that belong
// to a session.
import { common } from "./session-scripts.ts";

/*
 * A value has the lines version, sk of its session or nothing, time, and the sealed record. `<r>:c`
 * has the last version (v) and the bytes (b) of each collection; `<r>:s` the members
 * `<sk>:<collection>\n<key>`.
 */
const access = `${common}
local r, collection, keepMs, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local h, time = r .. ':=' .. collection, now()
local function tell(k)
  redis.call('SPUBLISH', channel, cjson.encode({t = 'record', c = collection, k = k}))
end
local function parse(text)
  return string.match(text or '', '^(%d+)\\n([^\\n]*)\\n(%d+)\\n(.*)$')
end
local function drop(k, text)
  local _, sk = parse(text)
  redis.call('HDEL', h, k)
  redis.call('HINCRBY', r .. ':c', 'b' .. collection, -(#k + #text))
  if sk and sk ~= '' then redis.call('ZREM', r .. ':s', sk .. ':' .. collection .. '\\n' .. k) end
end
-- A record ends with its session, and is kept as long as a session at least.
local function find(k, text)
  local version, sk, at, sealed = parse(text)
  if not version then return nil end
  local session = string.sub(r, 1, -2) .. '{' .. sk .. '}:m'
  if sk ~= '' and at + keepMs < time and redis.call('EXISTS', session) == 0 then
    drop(k, text)
    return nil
  end
  return version, sealed
end
`;

/** ARGV: see `access`, key. */
const record = `${access}
local version, sealed = find(ARGV[5], redis.call('HGET', h, ARGV[5]))
return version and {version, sealed} or {}
`;

/** ARGV: see `access`. */
const records = `${access}
local rows, all = {}, redis.call('HGETALL', h)
for at = 1, #all, 2 do
  local version, sealed = find(all[at], all[at + 1])
  if version then rows[#rows + 1] = {all[at], version, sealed} end
end
return rows
`;

/**
 * ARGV: see `access`, key, expected version or nothing, sk or nothing, sealed record, most records,
 * most bytes. A call that is repeated finds its own record.
 *
 * @returns The version; with 0 before it, the one that is stored instead; -1 if it is full.
 */
const putRecord = `${access}
local k, expected, sk, sealed = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local before = redis.call('HGET', h, k)
local version, known = find(k, before)
if known == sealed then return {tonumber(version)} end
if expected ~= '' and expected ~= (version or '0') then return {0, tonumber(version or '0')} end
if version then drop(k, before) end
local nextVersion = redis.call('HINCRBY', r .. ':c', 'v' .. collection, 1)
local text = string.format('%d', nextVersion) .. '\\n' .. sk .. '\\n' .. string.format('%d', time)
  .. '\\n' .. sealed
local bytes = redis.call('HINCRBY', r .. ':c', 'b' .. collection, #k + #text)
if bytes > tonumber(ARGV[10]) or redis.call('HLEN', h) >= tonumber(ARGV[9]) then
  redis.call('HINCRBY', r .. ':c', 'b' .. collection, -(#k + #text))
  if version then
    redis.call('HSET', h, k, before)
    redis.call('HINCRBY', r .. ':c', 'b' .. collection, #k + #before)
    local _, old = parse(before)
    if old ~= '' then redis.call('ZADD', r .. ':s', 0, old .. ':' .. collection .. '\\n' .. k) end
  end
  return {-1}
end
redis.call('HSET', h, k, text)
if sk ~= '' then redis.call('ZADD', r .. ':s', 0, sk .. ':' .. collection .. '\\n' .. k) end
tell(k)
return {nextVersion}
`;

/** ARGV: see `access`, key, expected version or nothing. @returns The version stored instead. */
const removeRecord = `${access}
local k, text = ARGV[5], redis.call('HGET', h, ARGV[5])
local version = find(k, text)
if not version then return 0 end
if ARGV[6] ~= '' and ARGV[6] ~= version then return tonumber(version) end
drop(k, text)
tell(k)
return 0
`;

/** Removes the records of a session whose conversation is deleted. */
export const forgetRecords = `
local function forgetRecords(r, sk, channel)
  local members = redis.call('ZRANGEBYLEX', r .. ':s', '[' .. sk .. ':', '(' .. sk .. ';')
  for _, member in ipairs(members) do
    local collection, k = string.match(string.sub(member, #sk + 2), '^([^\\n]*)\\n(.*)$')
    local text = redis.call('HGET', r .. ':=' .. collection, k)
    if text then
      redis.call('HDEL', r .. ':=' .. collection, k)
      redis.call('HINCRBY', r .. ':c', 'b' .. collection, -(#k + #text))
      redis.call('SPUBLISH', channel, cjson.encode({t = 'record', c = collection, k = k}))
    end
    redis.call('ZREM', r .. ':s', member)
  end
end
`;

export const recordScripts = { record, records, putRecord, removeRecord } as const;
