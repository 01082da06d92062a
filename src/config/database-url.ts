import { Secret } from '../core/secret.ts'

/** The PostgreSQL database that flags or environment variables specify. */
export interface SpecifiedDatabase {
  url?: Secret | undefined
  /** URL of the database server itself if `url` is the URL of a pooler. */
  directUrl?: Secret | undefined
}

/** Returns the database that the flag or the environment specifies. The flag takes precedence over GDN_DATABASE_URL. */
export function readDatabaseOptions(flag: string | undefined, env: NodeJS.ProcessEnv): SpecifiedDatabase {
  const url = flag ?? (env.GDN_DATABASE_URL === '' ? undefined : env.GDN_DATABASE_URL)
  const direct = env.GDN_DATABASE_DIRECT_URL === '' ? undefined : env.GDN_DATABASE_DIRECT_URL
  return {
    url: url === undefined ? undefined : new Secret(url),
    directUrl: direct === undefined ? undefined : new Secret(direct),
  }
}

/**
 * Returns whether a URL contains a password. Every user of the machine can read a password in command-line arguments.
 */
export const containsPassword = (url: string): boolean => /^[a-z]+:\/\/[^/?#@]*:[^/?#]+@/i.test(url)
