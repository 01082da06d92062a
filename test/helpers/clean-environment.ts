import { ENVIRONMENT_VARIABLES, OTHER_VARIABLES } from '../../src/config/environment.ts'

// Makes tests independent of who runs them. Imported first by vitest.config.ts, so that all processes of tests inherit
// it: nothing that gdn reads, and a umask that lets others read. Tests of a variable or of a umask set it themselves.

/** Installations need the proxy, downloads stay in the cache, and the test runner reads the others. */
const KEPT = new Set(['HTTPS_PROXY', 'XDG_CACHE_HOME', 'CI', 'TERM'])
for (const { name } of [...ENVIRONMENT_VARIABLES, ...OTHER_VARIABLES]) if (!KEPT.has(name)) delete process.env[name]

// A git hook sets GIT_DIR, which git would use in other repositories too.
for (const name of Object.keys(process.env)) if (name.startsWith('GIT_')) delete process.env[name]

// With NODE_USE_ENV_PROXY, Node.js would look for the servers of tests behind the proxy.
for (const name of ['NO_PROXY', 'no_proxy']) {
  process.env[name] = ['localhost', '127.0.0.1', '::1', process.env[name]].filter(Boolean).join(',')
}

process.umask(0o022)
