import { startPostgres } from '../test/helpers/postgres-server.ts'
import { measureOn } from './explorer.ts'
import type { Figure } from './figures.ts'

/** Same as {@link measureOn}, with the data in PostgreSQL. */
export async function measure(): Promise<Figure[]> {
  const postgres = await startPostgres({ settings: ['shared_buffers=256MB'] })
  try {
    return await measureOn(async (name) => {
      await postgres.execute(`create database gdn_${name}`)
      return postgres.url(`gdn_${name}`)
    })
  } finally {
    await postgres.close()
  }
}
