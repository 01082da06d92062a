import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a database on the server shared by all tests of the run. */
    postgres: string
  }
}

/** Starts one PostgreSQL server for all test files of a run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres()
  project.provide('postgres', server.url('postgres'))
  return () => server.close()
}
