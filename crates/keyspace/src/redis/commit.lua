-- Applies a batch: its checks, then its writes, all or nothing.
--
-- Redis runs a script without interruption, but does not undo its writes if a
-- command fails. So everything that can refuse the batch is checked before the
-- first write.
--
-- KEYS[i]  the key of the i-th operation; checks come first. Last, the key that
--          the database always has, if there is such a key
-- ARGV     the number of checks; the text of the last key, or nothing; then for
--          each operation its name, the number of its arguments, and the arguments
--
-- Returns {'committed', counter...}, {'guarded'} if the last key has another text
-- or is gone, or {reason, i} for the operation that refuses the batch. The reason is 'rejected' (a check does not hold), 'wrong
-- type' or 'not an integer'. The number is negative if another key of the
-- operation is meant. For a selection, a third number says which: 0 for the
-- sorted set, n for the n-th set.

local COUNTER_LIMIT = 1000000000000000

local call = redis.call

local checks = tonumber(ARGV[1])
local count = #KEYS
if ARGV[2] ~= '' then
  count = count - 1
  if call('GET', KEYS[#KEYS]) ~= ARGV[2] then
    return { 'guarded' }
  end
end
local operations = {}
local cursor = 3
for i = 1, count do
  local operation = { name = ARGV[cursor] }
  local arguments = tonumber(ARGV[cursor + 1])
  for j = 1, arguments do
    operation[j] = ARGV[cursor + 1 + j]
  end
  cursor = cursor + 2 + arguments
  operations[i] = operation
end

local function type_of(key)
  return call('TYPE', key).ok
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

-- The type that an operation needs. Operations without an entry take any type.
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
  lower_field = 'hash',
  add_member = 'set',
  remove_member = 'set',
  sorted_add = 'zset',
  sorted_add_bounded = 'zset',
  sorted_append = 'zset',
  sorted_raise = 'zset',
  sorted_add_if_present = 'zset',
  sorted_increment = 'zset',
  sorted_remove = 'zset',
  sorted_trim = 'zset',
}

-- The writes after which a key is present.
local adds = {
  increment = true,
  set_fields = true,
  increment_field = true,
  lower_field = true,
  add_member = true,
  sorted_add = true,
  sorted_add_bounded = true,
  sorted_append = true,
  sorted_raise = true,
  sorted_increment = true,
}

-- Each check returns whether it holds, or nil for a value that is not a number.
local holds = {
  key_absent = function(key)
    return type_of(key) == 'none'
  end,
  key_present = function(key)
    return type_of(key) ~= 'none'
  end,
  string_equals = function(key, value)
    return call('GET', key) == value
  end,
  field_equals = function(key, field, value)
    return call('HGET', key, field) == value
  end,
  field_absent = function(key, field)
    return call('HEXISTS', key, field) == 0
  end,
  field_at_least = function(key, field, least)
    local number = counter_of(call('HGET', key, field) or '0')
    return number and number >= tonumber(least)
  end,
  member_absent = function(key, member)
    return call('SISMEMBER', key, member) == 0
  end,
  sorted_member_absent = function(key, member)
    return not call('ZSCORE', key, member)
  end,
  sorted_member_present = function(key, member)
    return call('ZSCORE', key, member) ~= false
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

-- What each key will hold after the earlier writes. Removing an entry never
-- makes a key absent here, even if it is the last one: the embedded engine
-- does the same.
local plans = {}
local function plan_of(key)
  local plan = plans[key]
  if not plan then
    plan = { holds = type_of(key), cleared = false }
    plans[key] = plan
  end
  return plan
end

local counters = {}
for i = checks + 1, count do
  local key, operation = KEYS[i], operations[i]
  local name = operation.name
  local plan = plan_of(key)
  local need = needed[name]
  if need and plan.holds ~= 'none' and plan.holds ~= need then
    return { 'wrong type', i }
  end
  if adds[name] then
    plan.holds = need
  end
  if name == 'sorted_add_bounded' then
    local floors = plan_of(operation[4])
    if floors.holds ~= 'none' and floors.holds ~= 'zset' then
      return { 'wrong type', -i }
    end
    floors.holds = 'zset'
  end
  if name == 'sorted_store' then
    for j = 2, #operation do
      local source = plan_of(operation[j]).holds
      if source ~= 'none' and source ~= (j == 2 and 'zset' or 'set') then
        return { 'wrong type', -i, j - 2 }
      end
    end
    plan.holds = 'zset'
    plan.cleared = true
  end

  if name == 'set' then
    plan.holds = 'string'
    plan.cleared = true
  elseif name == 'delete' or (name == 'expire' and operation[1] == '0') then
    plan.holds = 'none'
    plan.cleared = true
  elseif name == 'delete_field' then
    plan.dropped = plan.dropped or {}
    plan.dropped[operation[1]] = true
  elseif name == 'increment' or name == 'increment_field' or name == 'lower_field' then
    local stored = false
    if plan.cleared then
      stored = false
    elseif name == 'increment' then
      stored = call('GET', key)
    elseif not (plan.dropped and plan.dropped[operation[1]]) then
      stored = call('HGET', key, operation[1])
    end
    local before = counter_of(stored or '0')
    local by = tonumber(operation[name == 'increment' and 1 or 2])
    if name == 'lower_field' then
      by = 0 - math.max(0, math.min(before or 0, by))
      operation[2] = string.format('%.0f', by)
    end
    local after = before and before + by
    if not after or after > COUNTER_LIMIT or after < -COUNTER_LIMIT then
      return { 'not an integer', i }
    end
    counters[#counters + 1] = after
  end
end

-- A server whose memory is full refuses the commands that may need memory, and
-- no others, so it could stop in the middle of the batch. SETRANGE with an empty
-- string counts as such a command and changes nothing.
if count > checks then
  local probe = redis.pcall('SETRANGE', KEYS[count], 0, '')
  if type(probe) == 'table' and probe.err and string.find(probe.err, '^%-?OOM') then
    return probe
  end
end

local apply = {
  set = function(key, write)
    if write[2] then
      call('SET', key, write[1], 'PX', write[2])
    else
      call('SET', key, write[1])
    end
  end,
  delete = function(key)
    call('DEL', key)
  end,
  expire = function(key, write)
    call('PEXPIRE', key, write[1])
  end,
  increment = function(key, write)
    call('INCRBY', key, write[1])
  end,
  set_fields = function(key, write)
    -- One by one: a write may have more fields than Lua can unpack.
    for j = 1, #write, 2 do
      call('HSET', key, write[j], write[j + 1])
    end
  end,
  delete_field = function(key, write)
    call('HDEL', key, write[1])
  end,
  increment_field = function(key, write)
    call('HINCRBY', key, write[1], write[2])
  end,
  -- How much it loses was found out above.
  lower_field = function(key, write)
    call('HINCRBY', key, write[1], write[2])
  end,
  add_member = function(key, write)
    call('SADD', key, write[1])
  end,
  remove_member = function(key, write)
    call('SREM', key, write[1])
  end,
  sorted_add = function(key, write)
    call('ZADD', key, write[1], write[2])
  end,
  sorted_add_bounded = function(key, write)
    call('ZADD', key, write[1], write[2])
    local beyond = call('ZCARD', key) - tonumber(write[3])
    if beyond > 0 then
      local highest = call('ZRANGE', key, beyond - 1, beyond - 1, 'WITHSCORES')
      call('ZREMRANGEBYRANK', key, 0, beyond - 1)
      call('ZADD', write[4], 'GT', highest[2], write[5])
    end
  end,
  sorted_append = function(key, write)
    local highest = call('ZRANGE', key, -1, -1, 'WITHSCORES')
    local score = tonumber(highest[2] or '0') + 1
    call('ZADD', key, string.format('%.17g', score), write[1])
  end,
  sorted_raise = function(key, write)
    call('ZADD', key, 'GT', write[1], write[2])
  end,
  sorted_add_if_present = function(key, write)
    if call('EXISTS', key) == 1 then
      call('ZADD', key, write[1], write[2])
    end
  end,
  sorted_store = function(key, write)
    -- In a selection the members of a set have the score 1; a weight of 0 removes it.
    if write[1] == 'any' then
      call('ZUNIONSTORE', key, #write - 2, unpack(write, 3))
      call('ZINTERSTORE', key, 2, write[2], key, 'WEIGHTS', 1, 0)
      return
    end
    local weights = { 1 }
    for j = 3, #write do
      weights[j - 1] = 0
    end
    local arguments = {}
    for j = 2, #write do
      arguments[#arguments + 1] = write[j]
    end
    arguments[#arguments + 1] = 'WEIGHTS'
    for j = 1, #weights do
      arguments[#arguments + 1] = weights[j]
    end
    call('ZINTERSTORE', key, #weights, unpack(arguments))
  end,
  sorted_increment = function(key, write)
    call('ZINCRBY', key, write[1], write[2])
  end,
  sorted_remove = function(key, write)
    call('ZREM', key, write[1])
  end,
  sorted_trim = function(key, write)
    call('ZREMRANGEBYRANK', key, 0, write[1])
  end,
  publish = function(channel, write)
    -- If the user may not publish, the batch must not stop in the middle.
    redis.pcall('PUBLISH', channel, write[1])
  end,
}

for i = checks + 1, count do
  apply[operations[i].name](KEYS[i], operations[i])
end

local answer = { 'committed' }
for i = 1, #counters do
  answer[i + 1] = counters[i]
end
return answer
