-- Applies a batch: its checks, then its writes, all or nothing.
--
-- A script is the one thing that Redis never interrupts, but it does not undo
-- what it has written when a command fails. Therefore everything that can
-- refuse the batch is looked at before the first write.
--
-- KEYS[i]  the key of the i-th operation; checks come first
-- ARGV     the number of checks; then for each operation its name, the number
--          of its arguments, and these
--
-- Answers {'committed', counter...}, or {reason, i} with the operation that
-- refuses: 'rejected' (a check does not hold), 'wrong type', 'not an integer'.

local COUNTER_LIMIT = 1000000000000000

local checks = tonumber(ARGV[1])
local operations = {}
local cursor = 2
for i = 1, #KEYS do
  local operation = { name = ARGV[cursor] }
  local arguments = tonumber(ARGV[cursor + 1])
  for j = 1, arguments do
    operation[j] = ARGV[cursor + 1 + j]
  end
  cursor = cursor + 2 + arguments
  operations[i] = operation
end

local function type_of(key)
  return redis.call('TYPE', key).ok
end

-- A counter must be what Redis itself would write: canonical decimal digits.
local function counter_of(text)
  if text == '0' then
    return 0
  end
  if #text > 17 or not string.find(text, '^%-?[1-9]%d*$') then
    return nil
  end
  local number = tonumber(text)
  if number > COUNTER_LIMIT or number < -COUNTER_LIMIT then
    return nil
  end
  return number
end

-- The type that an operation needs; none for those that take any.
local needed = {
  string_equals = 'string',
  field_equals = 'hash',
  field_absent = 'hash',
  field_at_least = 'hash',
  member_absent = 'set',
  sorted_member_absent = 'zset',
  sorted_member_present = 'zset',
  increment = 'string',
  set_fields = 'hash',
  delete_field = 'hash',
  increment_field = 'hash',
  add_member = 'set',
  remove_member = 'set',
  sorted_add = 'zset',
  sorted_remove = 'zset',
  sorted_trim = 'zset',
}

-- The writes after which a key is present.
local adds = {
  increment = true,
  set_fields = true,
  increment_field = true,
  add_member = true,
  sorted_add = true,
}

-- Each check answers whether it holds, or nil for a number that is none.
local holds = {
  key_absent = function(key)
    return type_of(key) == 'none'
  end,
  key_present = function(key)
    return type_of(key) ~= 'none'
  end,
  string_equals = function(key, value)
    return redis.call('GET', key) == value
  end,
  field_equals = function(key, field, value)
    return redis.call('HGET', key, field) == value
  end,
  field_absent = function(key, field)
    return redis.call('HEXISTS', key, field) == 0
  end,
  field_at_least = function(key, field, least)
    local number = counter_of(redis.call('HGET', key, field) or '0')
    return number and number >= tonumber(least)
  end,
  member_absent = function(key, member)
    return redis.call('SISMEMBER', key, member) == 0
  end,
  sorted_member_absent = function(key, member)
    return not redis.call('ZSCORE', key, member)
  end,
  sorted_member_present = function(key, member)
    return redis.call('ZSCORE', key, member) ~= false
  end,
}

for i = 1, checks do
  local key, operation = KEYS[i], operations[i]
  local need = needed[operation.name]
  if need then
    local held = type_of(key)
    if held ~= 'none' and held ~= need then
      return { 'wrong type', i }
    end
  end
  local held = holds[operation.name](key, operation[1], operation[2])
  if held == nil then
    return { 'not an integer', i }
  end
  if not held then
    return { 'rejected', i }
  end
end

-- What each key will hold when the writes before this one are applied. A
-- removal never makes a key absent here, even if it takes the last entry: the
-- embedded engine reckons the same way.
local plans = {}
local counters = {}
for i = checks + 1, #KEYS do
  local key, operation = KEYS[i], operations[i]
  local name = operation.name
  local plan = plans[key]
  if not plan then
    plan = { holds = type_of(key), cleared = false, dropped = {} }
    plans[key] = plan
  end
  local need = needed[name]
  if need and plan.holds ~= 'none' and plan.holds ~= need then
    return { 'wrong type', i }
  end
  if adds[name] then
    plan.holds = need
  end

  if name == 'set' then
    plan.holds = 'string'
    plan.cleared = true
  elseif name == 'delete' or (name == 'expire' and operation[1] == '0') then
    plan.holds = 'none'
    plan.cleared = true
  elseif name == 'delete_field' then
    plan.dropped[operation[1]] = true
  elseif name == 'increment' or name == 'increment_field' then
    local stored = false
    if plan.cleared then
      stored = false
    elseif name == 'increment' then
      stored = redis.call('GET', key)
    elseif not plan.dropped[operation[1]] then
      stored = redis.call('HGET', key, operation[1])
    end
    local before = counter_of(stored or '0')
    local after = before and before + tonumber(operation[name == 'increment' and 1 or 2])
    if not after or after > COUNTER_LIMIT or after < -COUNTER_LIMIT then
      return { 'not an integer', i }
    end
    counters[#counters + 1] = after
  end
end

-- A server whose memory is full refuses writes that need more, but not those
-- that need none: it could stop in the middle. SETRANGE of nothing needs
-- memory in the server's eyes and changes nothing.
if #KEYS > checks then
  local probe = redis.pcall('SETRANGE', KEYS[#KEYS], 0, '')
  if type(probe) == 'table' and probe.err and string.find(probe.err, '^%-?OOM') then
    return probe
  end
end

local apply = {
  set = function(key, write)
    if write[2] then
      redis.call('SET', key, write[1], 'PX', write[2])
    else
      redis.call('SET', key, write[1])
    end
  end,
  delete = function(key)
    redis.call('DEL', key)
  end,
  expire = function(key, write)
    redis.call('PEXPIRE', key, write[1])
  end,
  increment = function(key, write)
    redis.call('INCRBY', key, write[1])
  end,
  set_fields = function(key, write)
    -- One by one: the fields of one write may be more than Lua can unpack.
    for j = 1, #write, 2 do
      redis.call('HSET', key, write[j], write[j + 1])
    end
  end,
  delete_field = function(key, write)
    redis.call('HDEL', key, write[1])
  end,
  increment_field = function(key, write)
    redis.call('HINCRBY', key, write[1], write[2])
  end,
  add_member = function(key, write)
    redis.call('SADD', key, write[1])
  end,
  remove_member = function(key, write)
    redis.call('SREM', key, write[1])
  end,
  sorted_add = function(key, write)
    redis.call('ZADD', key, write[1], write[2])
  end,
  sorted_remove = function(key, write)
    redis.call('ZREM', key, write[1])
  end,
  sorted_trim = function(key, write)
    redis.call('ZREMRANGEBYRANK', key, 0, write[1])
  end,
}

for i = checks + 1, #KEYS do
  apply[operations[i].name](KEYS[i], operations[i])
end

local answer = { 'committed' }
for i = 1, #counters do
  answer[i + 1] = counters[i]
end
return answer
