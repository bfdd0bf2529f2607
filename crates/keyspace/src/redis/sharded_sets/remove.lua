-- Removes members from a sorted set, unless it is full and its end is above the floor. The end is
-- the score of the last of the members that are kept: lower ones may have been dropped, and a set that
-- is no longer full would not tell. A set that has none of the members is left as it is.
--
-- KEYS[1]  the set
-- ARGV     how many members make it full, the floor, and the members
--
-- Returns the end of a full set, as a text, and nothing otherwise.

-- Lua can unpack a few thousand values.
local MAX_UNPACKED = 2000

local set = KEYS[1]
local last = math.max(tonumber(ARGV[1]), 1) - 1
local ends = redis.call('ZREVRANGE', set, last, last, 'WITHSCORES')[2]
if ends then
  local is_there = false
  for i = 3, #ARGV do
    if redis.call('ZSCORE', set, ARGV[i]) then
      is_there = true
      break
    end
  end
  if is_there and tonumber(ends) > tonumber(ARGV[2]) then
    return ends
  end
end
for first = 3, #ARGV, MAX_UNPACKED do
  local last = math.min(first + MAX_UNPACKED - 1, #ARGV)
  redis.call('ZREM', set, unpack(ARGV, first, last))
end
return false
