-- Removes members from a sorted set, unless it is full and its lowest score is above the floor:
-- then members with lower scores may have been dropped, and a set that is no longer full would not
-- tell. A set that has none of the members is left as it is.
--
-- KEYS[1]  the set
-- ARGV     how many members make it full, the floor, and the members
--
-- Returns the lowest score of a full set, as a text, and nothing otherwise.

-- Lua can unpack a few thousand values.
local MAX_UNPACKED = 2000

local set = KEYS[1]
local count = redis.call('ZCARD', set)
if count >= tonumber(ARGV[1]) and count > 0 then
  local lowest = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  local is_there = false
  for i = 3, #ARGV do
    if redis.call('ZSCORE', set, ARGV[i]) then
      is_there = true
      break
    end
  end
  if is_there and tonumber(lowest) > tonumber(ARGV[2]) then
    return lowest
  end
end
for first = 3, #ARGV, MAX_UNPACKED do
  local last = math.min(first + MAX_UNPACKED - 1, #ARGV)
  redis.call('ZREM', set, unpack(ARGV, first, last))
end
return false
