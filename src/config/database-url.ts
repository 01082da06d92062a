import { Secret } from '../core/secret.ts'

/** Where a PostgreSQL database is, as far as flags and environment tell. */
export interface GivenDatabase {
  url?: Secret
  /** Of the server itself, where `url` is that of a pooler. */
  directUrl?: Secret
}

/** What was given by flag, else by environment. */
export function databaseGiven(flag: string | undefined, env: NodeJS.ProcessEnv): GivenDatabase {
  const url = flag ?? (env.GDN_DATABASE_URL === '' ? undefined : env.GDN_DATABASE_URL)
  const direct = env.GDN_DATABASE_DIRECT_URL === '' ? undefined : env.GDN_DATABASE_DIRECT_URL
  return {
    ...(url === undefined ? {} : { url: new Secret(url) }),
    ...(direct === undefined ? {} : { directUrl: new Secret(direct) }),
  }
}

/** Whether a URL holds a password. In argv everybody on the machine can read it. */
export const holdsPassword = (url: string): boolean => /^[a-z]+:\/\/[^/?#@]*:[^/?#]+@/i.test(url)
