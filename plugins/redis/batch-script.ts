// The Lua script for the calls that every message needs: all of one turn of the event loop, of all
// sessions, in one step of the server.
import { common, maxEnds } from "./session-scripts.ts";

/** Milliseconds for which the id of an accepted message is known, and ids of one session. */
export const takenMs = 600_000;
const maxTaken = 1_024;
/** Milliseconds between two removals of old ids. */
const trimEveryMs = 30_000;
/** One part of this many of the window is dropped at a time, which costs less than each alone. */
const dropShare = 8;
/** Milliseconds between two updates of the time of the last use. */
const usedEveryMs = 1_000;

/*
 * Keys: lineage, index. The operations have a fixed number of values, see `arity`.
 * Values before the operations: begin of all keys, node, milliseconds that a session is kept,
 * milliseconds between two expiries, frames and bytes of the window, "1" to publish entries.
 *
 * A published entry reaches all nodes with a subscriber. If that is the node of the call alone
 * (`here` is "1" and its connection for subscriptions is alive), the reply is enough.
 */
const header = `${common}
local base, node, keepMs, keptSince = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local frames, bytes, publishes = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
local nodes = base .. 'x:'
local time, current, listens = now(), lineage(KEYS[1]), nil

local function isListening()
  if listens == nil then
    listens = redis.call('PUBSUB', 'SHARDNUMSUB', nodes .. node)[2] > 0
  end
  return listens
end
`;

const append = `
-- Drops the oldest frames of a session, and tells their nodes if no client has received them.
-- @return Also the number of complete turns among them.
local function drop(h, sk, top, size, dropped, written)
  local turns = 0
  while top - dropped > frames or size > bytes do
    local oldest = redis.call('XRANGE', h, '-', '+', 'COUNT', 32)
    if #oldest == 0 then break end
    for _, entry in ipairs(oldest) do
      if top - dropped <= frames and size <= bytes then break end
      dropped = tonumber(string.match(entry[1], '^%d+'))
      size = size - #entry[2][4]
      local head = entry[2][2]
      local isWhole = string.find(head, '"f":1', 1, true)
      if isWhole or string.find(head, '"t":"message.user"', 1, true) then turns = turns + 1 end
      local origin = dropped > written and string.match(entry[2][2], '^"n":"([%w_-]+)"')
      if origin then
        local lost = '{"t":"lost","k":"' .. sk .. '","s":' .. dropped .. '}'
        redis.call('SPUBLISH', nodes .. origin, lost)
      end
    end
    redis.call('XTRIM', h, 'MINID', (dropped + 1) .. '-0')
  end
  return size, dropped, turns
end

-- @return The reply for a number that this node has used before; nil for a new one.
local function repeated(m, h, counter, last)
  local before, number = string.match(last, '(%d+):(%d+)')
  before = tonumber(before)
  if before < counter then return nil end
  redis.call('HSET', m, 'x', time) -- a write, which WAIT can confirm
  if before == counter then return {redis.call('HGET', m, 'e'), tonumber(number), 0, 0, 0} end
  local own = '"n":"' .. node .. '","c":' .. counter .. ','
  for _, entry in ipairs(redis.call('XREVRANGE', h, '+', '-', 'COUNT', 256)) do
    if string.find(entry[2][2], own, 1, true) then
      local found = tonumber(string.match(entry[1], '^%d+'))
      return {redis.call('HGET', m, 'e'), found, 0, 0, 0}
    end
  end
  return redis.error_reply('REPEATED')
end

-- Notes a question and its settlement, so that every node finds open ones: see question-index.ts.
local function ask(sk, message, frame, mark)
  local q, field = base .. 'q', sk .. ':' .. message
  if mark == 'settled' then
    redis.call('HDEL', q, field)
  elseif mark == 'undelivered' then
    local asked = redis.call('HGET', q, field)
    if asked then redis.call('HSET', q, field, asked .. '\\n' .. frame) end
  else
    redis.call('HSET', q, field, mark .. '\\n' .. frame)
  end
end

-- The application has accepted a message, or a client stopped it: it may deliver an answer.
local function delivered(sk, id)
  if string.sub(id, 1, 7) == 'answer:' then
    redis.call('HDEL', base .. 'q', sk .. ':' .. string.sub(id, 8))
  end
end

local function number(m, h, sk, top, v, a)
  local op, head, frame, title = ARGV[a + 2], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6]
  redis.call('XADD', h, top .. '-0', 'x', head, 'd', frame)
  local size, dropped = tonumber(v[10] or '0') + #frame, tonumber(v[11] or '0')
  local room = frames >= ${dropShare * 8} and 1 + 1 / ${dropShare} or 1
  local set = {'HSET', m, 's', top, 'n:' .. node, ARGV[a + 12] .. ':' .. top}
  if top - dropped > frames * room or size > bytes * room then
    local gone
    size, dropped, gone = drop(h, sk, top, size, dropped, tonumber(v[7] or '0'))
    set[#set + 1], set[#set + 2] = 'dr', dropped
    if gone > 0 then redis.call('HINCRBY', m, 'dt', gone) end
  end
  set[#set + 1], set[#set + 2] = 'y', size
  if not v[6] then set[#set + 1], set[#set + 2] = 'na', (v[15] or '') .. node .. ' ' end
  local turns = (op == 'user' or op == 'create') and 1 or op == 'delete' and -1 or 0
  if turns ~= 0 then set[#set + 1], set[#set + 2] = 'tu', tonumber(v[14] or '0') + turns end
  if op == 'user' or op == 'create' or op == 'update' then
    if not v[13] then set[#set + 1], set[#set + 2] = 'ca', time end
    if not v[13] or tonumber(v[13]) + ${usedEveryMs} < time then
      set[#set + 1], set[#set + 2] = 'ua', time
      redis.call('ZADD', KEYS[2], time, sk)
    end
  end
  redis.call(unpack(set))
  if title ~= '' then redis.call('HSETNX', m, 'ti', title) end
end

-- sk, numbered, op, message, head, frame, title, address, fresh, seen epoch, seen number, fence,
-- counter, id of the message that the entry is or answers, mark of a question, here
local function append(a)
  local sk, numbered, op, message = ARGV[a], ARGV[a + 1] == '1', ARGV[a + 2], ARGV[a + 3]
  local own = base .. '{' .. sk .. '}:'
  local m, h, w = own .. 'm', own .. 'h', own .. 'w'
  local v = redis.call('HMGET', m, 'e', 's', 'l', 'o', 'f', 'n:' .. node, 'w', 'x', 'en', 'y', 'dr',
    'pw', 'ua', 'tu', 'na', 'd')
  -- The node knows of a request for ends that the store has lost, if the end has a message.
  local isUnwanted = op == 'end' and not v[9] and message == ''
  if isUnwanted or not numbered and not v[1] then return {false} end
  -- A new conversation does not begin with a change to a message.
  local isChange = v[16] and not v[1] and (op == 'update' or op == 'quiet' or op == 'delete')
  if isChange or isForgotten(v[16], ARGV[a + 11]) then return redis.error_reply('FORGOTTEN') end
  if not isOwner(m, v[4], v[5], node, ARGV[a + 11]) then return redis.error_reply('NOTOWNER') end
  if numbered and v[6] then
    local reply = repeated(m, h, tonumber(ARGV[a + 12]), v[6])
    if reply then return reply end
  end
  local epoch, top, renewed = v[1], tonumber(v[2] or '0'), 0
  local isLost = epoch == ARGV[a + 9] and tonumber(ARGV[a + 10]) > top
  if not epoch or v[3] ~= current or isLost then
    epoch, top, renewed = begin(m, ARGV[a + 8], ARGV[a + 9], ARGV[a + 10], ARGV[a + 7], current)
  end
  if numbered then
    top = top + 1
    number(m, h, sk, top, v, a)
    -- The answer is complete: the message is not handled again, whatever happens next. The message
    -- of a person is begun: it is handled again, and replaces what was stored of it.
    if ARGV[a + 13] ~= '' then
      local i = own .. 'i'
      local isBegun = op == 'user'
      local before = not isBegun and redis.call('HGET', i, ARGV[a + 13])
      if before and string.sub(before, -2) == 'b:' then redis.call('HDEL', i, ARGV[a + 13]) end
      redis.call('HSETNX', i, ARGV[a + 13], string.format('%d', time) .. (isBegun and 'b:' or ':'))
      redis.call('PEXPIRE', i, ${takenMs + 2 * trimEveryMs})
      delivered(sk, ARGV[a + 13])
    end
    if ARGV[a + 14] ~= '' then ask(sk, message, ARGV[a + 5], ARGV[a + 14]) end
    if op == 'quiet' then
      redis.call('ZADD', base .. 'lost', time, sk)
      redis.call('ZREMRANGEBYSCORE', base .. 'lost', '-inf', time - keepMs)
    end
    if message ~= '' and v[12] then
      redis.call('HDEL', w, message)
      if redis.call('HLEN', w) == 0 then redis.call('HDEL', m, 'pw') end
    end
  elseif op == 'end' then
    redis.call('RPUSH', own .. 'e', ARGV[a + 5])
    redis.call('LTRIM', own .. 'e', -${maxEnds}, -1)
    redis.call('PEXPIRE', own .. 'e', keepMs)
  elseif message ~= '' then
    redis.call('HSET', w, message, ARGV[a + 5])
    redis.call('PEXPIRE', w, keepMs)
    if not v[12] then redis.call('HSET', m, 'pw', 1) end
    if redis.call('HLEN', w) > 64 then redis.call('HDEL', w, redis.call('HKEYS', w)[1]) end
  end
  if renewed > 0 or not v[8] or tonumber(v[8]) + keptSince < time then
    keep(m, keepMs)
    redis.call('HSET', m, 'x', time)
  end
  if not publishes then return {epoch, top, 0, v[9] and 1 or 0, 0} end
  local channel, heard, quiet = own .. 'l', nil, 0
  if ARGV[a + 15] == '1' then
    heard = redis.call('PUBSUB', 'SHARDNUMSUB', channel)[2]
    if heard == 1 and isListening() then quiet = 1 end
  end
  if quiet == 0 then
    local first = '{"e":"' .. epoch .. '","s":' .. top .. ',' .. ARGV[a + 4] .. '}\\n'
    heard = redis.call('SPUBLISH', channel, first .. ARGV[a + 5])
  end
  return {epoch, top, heard, v[9] and 1 or 0, quiet}
end
`;

const settle = `
-- Removes the ids that are too old or too many.
local function trim(m, i)
  local all, times, kept = redis.call('HGETALL', i), {}, time - ${takenMs}
  for at = 2, #all, 2 do times[#times + 1] = tonumber(string.match(all[at], '^%d+')) end
  if #times > ${maxTaken} then
    table.sort(times)
    kept = math.max(kept, times[#times - ${maxTaken - 1}])
  end
  for at = 2, #all, 2 do
    if tonumber(string.match(all[at], '^%d+')) < kept then redis.call('HDEL', i, all[at - 1]) end
  end
  redis.call('PEXPIRE', i, ${takenMs + 2 * trimEveryMs})
  redis.call('HSET', m, 'ix', time)
end

-- sk, fence, id, digest
local function settle(a)
  local own = base .. '{' .. ARGV[a] .. '}:'
  local m, i = own .. 'm', own .. 'i'
  local v = redis.call('HMGET', m, 'o', 'f', 'ix', 'd')
  if isForgotten(v[4], ARGV[a + 1]) then return redis.error_reply('FORGOTTEN') end
  if not isOwner(m, v[1], v[2], node, ARGV[a + 1]) then return redis.error_reply('NOTOWNER') end
  local record = string.format('%d', time) .. ARGV[a + 3]
  delivered(ARGV[a], ARGV[a + 2])
  if redis.call('HSETNX', i, ARGV[a + 2], record) == 0 then
    -- A record without a digest was made by the answer.
    local before = redis.call('HGET', i, ARGV[a + 2])
    if string.sub(before, -1) == ':' then redis.call('HSET', i, ARGV[a + 2], record) end
  end
  local isDue = not v[3] or tonumber(v[3]) + ${trimEveryMs} < time
  if isDue or redis.call('HLEN', i) > ${maxTaken * 1.25} then trim(m, i) end
  return 1
end
`;

const note = `
-- sk, epoch, after, up to, progress. Returns the last number that is acknowledged for this node; 0
-- if there is none.
local function note(a)
  local own = base .. '{' .. ARGV[a] .. '}:'
  local m, h = own .. 'm', own .. 'h'
  local after, upTo, progress = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), ARGV[a + 4]
  local v = redis.call('HMGET', m, 'e', 's', 'w', 'pl', 'ak', 'na')
  if v[1] ~= ARGV[a + 1] then return 0 end
  upTo = math.min(upTo, tonumber(v[2]))
  local written, plain, acked = tonumber(v[3]), tonumber(v[4]), tonumber(v[5])
  local function raise(name, before)
    if upTo > before then redis.call('HSET', m, name, upTo) end
  end
  if progress == 'acknowledged' then
    raise('ak', acked)
    local mine = 0
    for name in string.gmatch(v[6] or '', '%S+') do
      local last = redis.call('HGET', m, 'n:' .. name)
      if last and tonumber(string.match(last, ':(%d+)')) > after then
        if name == node then
          mine = upTo
        else
          redis.call('SPUBLISH', nodes .. name,
            '{"t":"ack","k":"' .. ARGV[a] .. '","a":' .. after .. ',"u":' .. upTo .. '}')
        end
      end
    end
    return mine
  end
  if progress == 'answered' then
    local first = redis.call('XRANGE', h, '-', '+', 'COUNT', 1)[1]
    local dropped = first and tonumber(string.match(first[1], '^%d+')) - 1 or tonumber(v[2])
    while after > dropped do
      local entry = redis.call('XRANGE', h, after .. '-0', after .. '-0')[1]
      if not entry or not string.find(entry[2][2], '"t":"message.user"', 1, true) then break end
      after = after - 1
    end
    if after > dropped and after > math.min(written, math.max(plain, acked)) then return 0 end
  end
  raise('w', written)
  if progress ~= 'sent' then raise('pl', plain) end
  return 0
end
`;

/** The number of values of each operation. */
export const arity = { append: 16, settle: 4, note: 5 } as const;

/** An operation of the batch. */
export type Operation = keyof typeof arity;

const run = `
local operations = {append = append, settle = settle, note = note}
local arity = {append = ${arity.append}, settle = ${arity.settle}, note = ${arity.note}}
local replies, at = {}, 8
while ARGV[at] do
  local name = ARGV[at]
  local isDone, reply = pcall(operations[name], at + 1)
  if not isDone then
    reply = type(reply) == 'table' and reply or redis.error_reply('ERR ' .. tostring(reply))
  end
  replies[#replies + 1] = reply
  at = at + 1 + arity[name]
end
return replies
`;

export const batch = header + append + settle + note + run;
