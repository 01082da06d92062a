export function repositoryUrl(manifest?: { repository: { url: string } }): string | undefined
export function resolveLink(
  href: string,
  page: string,
  repository: string | undefined,
): { url: string; path?: undefined } | { url?: undefined; path: string }
