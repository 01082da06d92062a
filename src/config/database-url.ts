import { Secret } from '../core/secret.ts'

/** The location of a PostgreSQL database from flags and environment. */
export interface GivenDatabase {
  url?: Secret | undefined
  /** The URL of the server itself, if `url` is that of a pooler. */
  directUrl?: Secret | undefined
}

/** Returns the database URL of the flag, or else of the environment. */
export function databaseGiven(flag: string | undefined, env: NodeJS.ProcessEnv): GivenDatabase {
  const url = flag ?? (env.GDN_DATABASE_URL === '' ? undefined : env.GDN_DATABASE_URL)
  const direct = env.GDN_DATABASE_DIRECT_URL === '' ? undefined : env.GDN_DATABASE_DIRECT_URL
  return {
    url: url === undefined ? undefined : new Secret(url),
    directUrl: direct === undefined ? undefined : new Secret(direct),
  }
}

/** Whether a URL has a password. In argv, everybody on the machine can read it. */
export const holdsPassword = (url: string): boolean => /^[a-z]+:\/\/[^/?#@]*:[^/?#]+@/i.test(url)
