// What a program that is written in TypeScript may rely on, for the compiler to check.

import type { paths } from "./api";

type Answer<Path extends keyof paths, Method extends keyof paths[Path]> =
  paths[Path][Method] extends { responses: { 200: { content: { "application/json": infer Body } } } }
    ? Body
    : never;

type Listed = Extract<Answer<"/api/getnews/{sort}/{start}/{count}", "get">, { news: unknown }>;
type Vote = NonNullable<paths["/api/votenews"]["post"]["requestBody"]>["content"]["application/x-www-form-urlencoded"];
type Scored = Answer<"/scores", "get">[number];

/** The form that votes for a listed story: ids are numbers in answers and in requests. */
export function voteFor(listed: Listed, apisecret: string): Vote | undefined {
  const id: number | undefined = listed.news[0]?.id;
  return id === undefined ? undefined : { news_id: id, vote_type: "up", apisecret };
}

export function sites(scores: Scored[]): string[] {
  return scores.map((site) => site.link);
}
