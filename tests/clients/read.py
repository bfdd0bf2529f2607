"""Reads a site with clients of the APIs of Hacker News, and checks that they understand it."""

import asyncio
import datetime
import sys
import time
import urllib.error
import urllib.request

import hackernews
import hn
import hn.endpoints
import hnx
import hnx.models.items

ADDRESS = sys.argv[1].rstrip("/")
FIREBASE, ALGOLIA = f"{ADDRESS}/v0/", f"{ADDRESS}/api/v1/"


def wait_until_ready():
    """Waits until the site answers and its search has an index."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{ALGOLIA}search?tags=comment") as answer:
                if b'"nbHits":0' not in answer.read():
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.1)
    raise SystemExit("the site does not answer")


def check(what, is_so):
    """Ends with a message if something is not so."""
    if not is_so:
        raise SystemExit(f"{what} is not so")


def read_with_haxor():
    """haxor: items, people and lists, one by one and many at once."""
    client = hackernews.HackerNews()
    client.base_url = FIREBASE
    client.item_url, client.user_url = f"{FIREBASE}item/", f"{FIREBASE}user/"
    top = client.top_stories(limit=10)
    check("a list of stories", len(top) == 10 and all(item.item_type == "story" for item in top))
    check("their titles and authors", all(item.title and item.by for item in top))
    check("their times", all(item.submission_time > datetime.datetime(2020, 1, 1) for item in top))
    check("the other lists", client.new_stories(limit=3) and client.show_stories(limit=3) is not None)
    # It opens a connection for each of the comments, and an address may have 64.
    story = next(item for item in top if item.kids and len(item.kids) < 40)
    story = client.get_item(story.item_id, expand=True)
    check("a comment and its parent", all(kid.parent == story.item_id for kid in story.kids))
    author = client.get_user(story.by.user_id)
    check("a person", author.karma is not None and story.item_id in author.submitted)
    check("the highest number", client.get_max_item() >= story.item_id)
    newest = client.get_last(5)
    # Those that wait for approval are null.
    check("the last items", 0 < len(newest) <= 5)
    check("what has changed", client.updates()["items"])
    try:
        client.get_item(10**9)
    except hackernews.InvalidItemID:
        return
    raise SystemExit("an item that is not there is found")


async def read_with_hnx():
    """hnx: typed items, and a thread from both APIs."""
    async with hnx.HackerNews(firebase_base_url=FIREBASE, algolia_base_url=ALGOLIA) as client:
        numbers = await client.top()
        stories = await client.items(numbers[:20])
        check("typed stories", all(isinstance(item, hnx.models.items.Story) for item in stories))
        # A long thread may have comments that flags have hidden; they are counted, but not found.
        story = max(stories, key=lambda story: story.descendants)
        thread = await client.thread(story.id)
        check("a long thread", 100 < thread.comment_count <= story.descendants)
        story = max((story for story in stories if story.descendants < 100), key=lambda story: story.descendants)
        thread = await client.thread(story.id)
        check("a whole thread", thread.comment_count == story.descendants > 10)
        check("its order", [node.id for node in thread.comments] == [
            kid for kid in story.kids if kid in {node.id for node in thread.comments}
        ])
        user = await client.user(story.by)
        check("a typed person", user.id == story.by and user.created > 0)
        for numbers in (await client.best(), await client.new(), await client.ask(), await client.show()):
            check("a list of numbers", all(isinstance(number, int) for number in numbers))
        check("no jobs", await client.jobs() == [])


def read_with_python_hn():
    """python-hn: searches, an item and a person."""
    hn.endpoints.SEARCH_BY_DATE = f"{ALGOLIA}search_by_date"
    hn.endpoints.ITEMS, hn.endpoints.USERS = f"{ALGOLIA}items/{{id}}", f"{ALGOLIA}users/{{id}}"
    stories = list(hn.search_by_date(stories=True, hits_per_page=50))
    check("all stories, page by page", len(stories) > 50)
    times = [story["created_at_i"] for story in stories]
    check("the newest first", times == sorted(times, reverse=True))
    check("each of them once", len({story["objectID"] for story in stories}) == len(stories))
    story = max((story for story in stories if story["num_comments"] < 100), key=lambda story: story["num_comments"])
    found = next(hn.search_by_date(story["title"], stories=True))
    check("a story by its title", found["objectID"] == story["objectID"])
    comments = list(hn.search_by_date(story_id=story["objectID"], comments=True))
    check("the comments of a story", len(comments) == story["num_comments"])
    of_author = next(hn.search_by_date(author=story["author"], num_comments__gte=1))
    check("stories of a person", of_author["author"] == story["author"])
    item = hn.api.get_item(story["objectID"])
    check("an item", item["title"] == story["title"] and item["children"])
    check("a person", hn.api.get_user(story["author"])["username"] == story["author"])
    check("nobody", hn.api.get_user("nobody-of-this-name") is None)


wait_until_ready()
print("haxor")
read_with_haxor()
print("hnx")
asyncio.run(read_with_hnx())
print("python-hn")
read_with_python_hn()
