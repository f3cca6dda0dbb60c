// The Lua scripts for the entries of a session. Each one is one atomic step of the server.

/*
 * Fields of the hash `m` of a session:
 *   e epoch, s top, p former epoch, b last number of the former epoch, l lineage, y bytes of the
 *   frames, x time of the last expiry, o owner, f fence,
 *   w written, pl plain, ak acknowledged, n:<node> `counter:number` of the node's last append,
 *   c creation id, ad address, ti title, nm chosen name, ca created, ua used, tu turns.
 * Stream `h`: frames with the ids `<number>-0`; `x` describes the frame, `d` is the frame.
 * Hash `w`: latest update of each unfinished message. Sorted set `i`: accepted ids by time.
 */

/** Functions of all session scripts. */
export const common = `
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function keep(ms)
  for at = 1, 3 do redis.call('PEXPIRE', KEYS[at], ms) end
end
local function lineage()
  return redis.call('HGET', KEYS[5], 'l') or '0'
end
local function isOwner(owner, fence, node, given)
  if given == '' then return true end
  if not fence then
    redis.call('HSET', KEYS[1], 'o', node, 'f', given)
    return true
  end
  return owner == node and fence == given
end
-- A new epoch begins at the top if the stream is new, or if writes of it may be lost.
local function begin(m, fresh, seenEpoch, seen, address)
  local v = redis.call('HMGET', m, 'e', 's', 'l')
  local current = lineage()
  if not v[1] then
    redis.call('DEL', KEYS[2], KEYS[3])
    redis.call('HSET', m, 'e', fresh, 's', 0, 'l', current, 'y', 0, 'w', 0, 'pl', 0, 'ak', 0,
      'b', 0, 'ad', address, 'c', fresh)
    return fresh, 0, 1
  end
  local top = tonumber(v[2])
  if v[3] == current and not (v[1] == seenEpoch and tonumber(seen) > top) then
    return v[1], top, 0
  end
  redis.call('HSET', m, 'e', fresh, 'p', v[1], 'b', top, 'l', current)
  for _, name in ipairs({'w', 'pl', 'ak'}) do
    if tonumber(redis.call('HGET', m, name)) > top then redis.call('HSET', m, name, top) end
  end
  return fresh, top, 2
end
`;

/** Keys of all session scripts: m, h, w, i, g (lineage), z (index), l (channel of the session). */
const append = `${common}
local m, h, w = KEYS[1], KEYS[2], KEYS[3]
local fresh, seenEpoch, seen, fence, node = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local counter, numbered, message, head = tonumber(ARGV[6]), ARGV[7] == '1', ARGV[8], ARGV[9]
local frame, frames, bytes, keepMs = ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[13]
local publishes, op, title, address = ARGV[14] == '1', ARGV[15], ARGV[16], ARGV[17]
local sk, nodes, keptSince = ARGV[18], ARGV[19], ARGV[20]
local v = redis.call('HMGET', m, 'e', 'o', 'f', 'n:' .. node, 'x', 'w')
if not numbered and not v[1] then return {false} end
if not isOwner(v[2], v[3], node, fence) then return redis.error_reply('NOTOWNER') end
local last = numbered and v[4]
if last then
  local before, number = string.match(last, '(%d+):(%d+)')
  before = tonumber(before)
  if before >= counter then redis.call('HSET', m, 'x', now()) end -- a write, which WAIT can confirm
  if before == counter then
    return {redis.call('HGET', m, 'e'), tonumber(number), 0, 0}
  elseif before > counter then
    local own = '"n":"' .. node .. '","c":' .. counter .. ','
    for _, entry in ipairs(redis.call('XREVRANGE', h, '+', '-', 'COUNT', 256)) do
      if string.find(entry[2][2], own, 1, true) then
        local found = tonumber(string.match(entry[1], '^%d+'))
        return {redis.call('HGET', m, 'e'), found, 0, 0}
      end
    end
    return redis.error_reply('REPEATED')
  end
end
local epoch, top, renewed = begin(m, fresh, seenEpoch, seen, address)
local time = now()
if numbered then
  top = top + 1
  redis.call('XADD', h, top .. '-0', 'x', head, 'd', frame)
  redis.call('HSET', m, 's', top, 'n:' .. node, counter .. ':' .. top)
  if message ~= '' then redis.call('HDEL', w, message) end
  local size = redis.call('HINCRBY', m, 'y', #frame)
  local count = redis.call('XLEN', h)
  local written = tonumber(v[6] or '0')
  while count > frames or size > bytes do
    local oldest = redis.call('XRANGE', h, '-', '+', 'COUNT', 1)[1]
    if not oldest then break end
    redis.call('XDEL', h, oldest[1])
    count = count - 1
    size = redis.call('HINCRBY', m, 'y', -#oldest[2][4])
    local number = tonumber(string.match(oldest[1], '^%d+'))
    if number > written then
      local origin = string.match(oldest[2][2], '^"n":"([%w_-]+)"')
      if origin then
        local lost = '{"t":"lost","k":"' .. sk .. '","s":' .. number .. '}'
        redis.call('SPUBLISH', nodes .. origin, lost)
      end
    end
  end
  if op == 'user' or op == 'create' then redis.call('HINCRBY', m, 'tu', 1) end
  if op == 'delete' then redis.call('HINCRBY', m, 'tu', -1) end
  if op == 'user' or op == 'create' or op == 'update' then
    redis.call('HSETNX', m, 'ca', time)
    redis.call('HSET', m, 'ua', time)
    redis.call('ZADD', KEYS[6], time, sk)
  end
  if title ~= '' then redis.call('HSETNX', m, 'ti', title) end
elseif message ~= '' then
  redis.call('HSET', w, message, frame)
  redis.call('PEXPIRE', w, keepMs)
  if redis.call('HLEN', w) > 64 then redis.call('HDEL', w, redis.call('HKEYS', w)[1]) end
end
if renewed > 0 or not v[5] or tonumber(v[5]) + tonumber(keptSince) < time then
  keep(keepMs)
  redis.call('HSET', m, 'x', time)
end
local heard = 0
if publishes then
  local payload = '{"e":"' .. epoch .. '","s":' .. top .. ',' .. head .. '}\\n' .. frame
  heard = redis.call('SPUBLISH', KEYS[7], payload)
end
return {epoch, top, heard, renewed}
`;

const open = `${common}
local m = KEYS[1]
local fresh, seenEpoch, seen, node, keepMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local address, sk, nodes = ARGV[6], ARGV[7], ARGV[8]
local epoch, top, renewed = begin(m, fresh, seenEpoch, seen, address)
redis.call('HSET', m, 'x', now())
keep(keepMs)
local listeners = redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[7])[2]
if listeners == 1 then
  local owner = redis.call('HGET', m, 'o')
  if owner and owner ~= '' and owner ~= node then
    redis.call('SPUBLISH', nodes .. owner, '{"t":"active","k":"' .. sk .. '"}')
  end
end
return {epoch, top, listeners, renewed}
`;

/** After the last local subscriber has left. */
const leave = `
local listeners = redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[7])[2]
local owner = redis.call('HGET', KEYS[1], 'o')
if listeners == 0 and owner and owner ~= '' and owner ~= ARGV[3] then
  redis.call('SPUBLISH', ARGV[2] .. owner, '{"t":"idle","k":"' .. ARGV[1] .. '"}')
end
return listeners
`;

const read = `${common}
local m, h = KEYS[1], KEYS[2]
local epoch, seq, default = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local v = redis.call('HMGET', m, 'e', 's', 'p', 'b', 'w', 'pl', 'ak')
if not v[1] then return {false} end
redis.call('HSET', m, 'x', now())
keep(ARGV[4])
local top, border = tonumber(v[2]), tonumber(v[4] or '0')
local first = redis.call('XRANGE', h, '-', '+', 'COUNT', 1)[1]
local dropped = first and tonumber(string.match(first[1], '^%d+')) - 1 or top
local start, gap = nil, ''
if epoch == '' then
  start = default == 'written' and tonumber(v[5]) or math.max(tonumber(v[6]), tonumber(v[7]))
  if dropped > start then gap = 'overflow' end
elseif epoch == v[1] and seq <= top then
  start = seq
  if dropped > start then gap = 'missing' end
elseif epoch == v[1] then
  start, gap = top, 'epoch'
elseif epoch == v[3] then
  start, gap = math.min(seq, border), 'epoch'
  if dropped > start then start = math.max(border, dropped) end
else
  start, gap = dropped <= border and border or top, 'epoch'
end
local frames = {}
if gap ~= 'missing' then
  for _, entry in ipairs(redis.call('XRANGE', h, (start + 1) .. '-0', '+')) do
    frames[#frames + 1] = entry[2][4]
  end
end
local partials = redis.call('HVALS', KEYS[3])
return {v[1], top, gap, start, frames, partials}
`;

const top = `
return redis.call('HMGET', KEYS[1], 'e', 's')
`;

/** The entries after a number, for a node that has missed some. */
const catchUp = `
local v = redis.call('HMGET', KEYS[1], 'e', 's')
if not v[1] then return {false} end
redis.call('HSET', KEYS[1], 'x', redis.call('TIME')[1] * 1000) -- a write, which WAIT can confirm
return {v[1], tonumber(v[2]), redis.call('XRANGE', KEYS[2], (tonumber(ARGV[1]) + 1) .. '-0', '+')}
`;

const note = `
local m, h = KEYS[1], KEYS[2]
local epoch, after, upTo, progress = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local v = redis.call('HMGET', m, 'e', 's', 'w', 'pl', 'ak')
if v[1] ~= epoch then return 0 end
upTo = math.min(upTo, tonumber(v[2]))
local written, plain, acked = tonumber(v[3]), tonumber(v[4]), tonumber(v[5])
local function raise(name, before)
  if upTo > before then redis.call('HSET', m, name, upTo) end
end
if progress == 'acknowledged' then
  raise('ak', acked)
  local fields = redis.call('HGETALL', m)
  for at = 1, #fields, 2 do
    local node = string.match(fields[at], '^n:(.+)$')
    if node and tonumber(string.match(fields[at + 1], ':(%d+)')) > after then
      redis.call('SPUBLISH', ARGV[6] .. node,
        '{"t":"ack","k":"' .. ARGV[5] .. '","a":' .. after .. ',"u":' .. upTo .. '}')
    end
  end
  return 1
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
return 1
`;

/** Keeps the streams with subscribers. Keys: m, h, w. */
const touch = `
for at = 1, 3 do redis.call('PEXPIRE', KEYS[at], ARGV[1]) end
return redis.call('EXISTS', KEYS[1])
`;

/** One node has heard more than the store has: the numbers after the top belong to a new epoch. */
const renew = `${common}
local v = redis.call('HMGET', KEYS[1], 'e', 's')
if not v[1] then return {false} end
local epoch, top = begin(KEYS[1], ARGV[1], ARGV[2], ARGV[3], '')
return {epoch, top}
`;

export const sessionScripts = {
  append,
  open,
  leave,
  read,
  top,
  catchUp,
  note,
  touch,
  renew,
} as const;
