-- Adds members to a sorted set, and drops the lowest if they are too many.
--
-- KEYS[1]  the set
-- ARGV     how many members may remain, and the scores with their members

-- Lua can unpack a few thousand values.
local MAX_UNPACKED = 2000

local set = KEYS[1]
for first = 2, #ARGV, MAX_UNPACKED do
  local last = math.min(first + MAX_UNPACKED - 1, #ARGV)
  redis.call('ZADD', set, unpack(ARGV, first, last))
end
local beyond = redis.call('ZCARD', set) - tonumber(ARGV[1])
if beyond > 0 then
  redis.call('ZREMRANGEBYRANK', set, 0, beyond - 1)
end
return false
