// The Lua scripts for the entries of a session. Each one is one atomic step of the server.

/*
 * Fields of the hash `m` of a session:
 *   e epoch, s top, p former epoch, b last number of the former epoch, l lineage, y bytes of the
 *   frames, dr last number that was dropped, dt turns that were dropped,
 *   x time of the last expiry, o owner, f fence,
 *   w written, pl plain, ak acknowledged, n:<node> `counter:number` of the node's last append,
 *   na the nodes with such a field, pw set while `w` exists, ix time of the last removal of ids,
 *   c creation id, ad address, ti title, nm chosen name, ca created, ua used, tu turns,
 *   en set if a client has asked for the ends of answers, d fence at the last deletion.
 * Stream `h`: frames with the ids `<number>-0`; `x` describes the frame, `d` is the frame.
 * Hash `w`: latest update of each unfinished message. Hash `i`: accepted ids.
 * List `e`: the ends of the latest answers, for clients that return. List `a`: those for history.
 */

/** Ends of answers that are kept for one session. */
export const maxEnds = 32;

/** Functions of all session scripts. */
export const common = `
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
-- The keys of a session differ by their last letter.
local function key(m, letter)
  return string.sub(m, 1, -2) .. letter
end
local function keep(m, ms)
  for _, letter in ipairs({'m', 'h', 'w', 'a'}) do redis.call('PEXPIRE', key(m, letter), ms) end
end
local function lineage(name)
  return redis.call('HGET', name, 'l') or '0'
end
local function isOwner(m, owner, fence, node, given)
  if given == '' then return true end
  if not fence then
    redis.call('HSET', m, 'o', node, 'f', given)
    return true
  end
  return owner == node and fence == given
end
-- True for a write that belongs to a conversation that was deleted.
local function isForgotten(deleted, given)
  return deleted and given ~= '' and tonumber(given) <= tonumber(deleted)
end
-- A new epoch begins at the top if the stream is new, or if writes of it may be lost.
local function begin(m, fresh, seenEpoch, seen, address, current)
  local v = redis.call('HMGET', m, 'e', 's', 'l')
  if not v[1] then
    redis.call('DEL', key(m, 'h'), key(m, 'w'), key(m, 'a'))
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
const open = `${common}
local m = KEYS[1]
local fresh, seenEpoch, seen, node, keepMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local address, sk, nodes, requestsEnds = ARGV[6], ARGV[7], ARGV[8], ARGV[9] == '1'
local epoch, top, renewed = begin(m, fresh, seenEpoch, seen, address, lineage(KEYS[5]))
redis.call('HSET', m, 'x', now())
keep(m, keepMs)
local listeners = redis.call('PUBSUB', 'SHARDNUMSUB', KEYS[7])[2]
local v = redis.call('HMGET', m, 'o', 'en')
local isElsewhere = v[1] and v[1] ~= '' and v[1] ~= node
if listeners == 1 and isElsewhere then
  redis.call('SPUBLISH', nodes .. v[1], '{"t":"active","k":"' .. sk .. '"}')
end
if requestsEnds and not v[2] then
  redis.call('HSET', m, 'en', 1)
  if isElsewhere then redis.call('SPUBLISH', nodes .. v[1], '{"t":"ends","k":"' .. sk .. '"}') end
end
return {epoch, top, listeners}
`;

/** A client of this session asks for the ends of answers: tells the owner. */
const requestEnds = `
local v = redis.call('HMGET', KEYS[1], 'e', 'en', 'o')
if not v[1] or v[2] then return 0 end
redis.call('HSET', KEYS[1], 'en', 1)
if v[3] and v[3] ~= '' then
  redis.call('SPUBLISH', ARGV[2] .. v[3], '{"t":"ends","k":"' .. ARGV[1] .. '"}')
end
return 1
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
keep(m, ARGV[4])
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
local kept = redis.call('LRANGE', key(m, 'e'), 0, -1)
return {v[1], top, gap, start, frames, partials, kept}
`;

const top = `
return redis.call('HMGET', KEYS[1], 'e', 's')
`;

const owner = `
return redis.call('HGET', KEYS[1], 'o')
`;

/** The entries after a number, for a node that has missed some, and the owner. */
const catchUp = `
local v = redis.call('HMGET', KEYS[1], 'e', 's', 'o')
if not v[1] then return {false} end
redis.call('HSET', KEYS[1], 'x', redis.call('TIME')[1] * 1000) -- a write, which WAIT can confirm
local entries = redis.call('XRANGE', KEYS[2], (tonumber(ARGV[1]) + 1) .. '-0', '+')
return {v[1], tonumber(v[2]), entries, v[3] or ''}
`;

/** The entries of the window, and the latest update of each unfinished message. */
const history = `
local v = redis.call('HMGET', KEYS[1], 'e')
if not v[1] then return {false, {}, {}} end
redis.call('HSET', KEYS[1], 'x', redis.call('TIME')[1] * 1000) -- a write, which WAIT can confirm
local growing = redis.pcall('HGETALL', KEYS[3])
return {v[1], redis.call('XRANGE', KEYS[2], '-', '+'), growing.err and {} or growing}
`;

/** Ends of answers that the history has: one for each frame of the window. */
const maxAnswers = 256;

/**
 * ARGV: fence, message and end as JSON, milliseconds that a session is kept. A deletion or a new
 * owner changes the fence.
 */
const noteEnd = `${common}
local m = KEYS[1]
local v = redis.call('HMGET', m, 'ca', 'f')
if not v[1] or v[2] ~= ARGV[1] then return 0 end
redis.call('RPUSH', key(m, 'a'), ARGV[2])
redis.call('LTRIM', key(m, 'a'), -${maxAnswers}, -1)
return redis.call('PEXPIRE', key(m, 'a'), ARGV[3])
`;

const answers = `${common}
return redis.call('LRANGE', key(KEYS[1], 'a'), 0, -1)
`;

/** Keeps the streams with subscribers. */
const touch = `${common}
keep(KEYS[1], ARGV[1])
return redis.call('EXISTS', KEYS[1])
`;

/** One node has heard more than the store has: the numbers after the top belong to a new epoch. */
const renew = `${common}
local v = redis.call('HMGET', KEYS[1], 'e', 's')
if not v[1] then return {false} end
local epoch, top = begin(KEYS[1], ARGV[1], ARGV[2], ARGV[3], '', lineage(KEYS[5]))
return {epoch, top}
`;

export const sessionScripts = {
  open,
  requestEnds,
  leave,
  read,
  top,
  owner,
  catchUp,
  history,
  noteEnd,
  answers,
  touch,
  renew,
} as const;
