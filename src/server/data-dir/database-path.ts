import { resolve } from 'node:path'

/** Returns the absolute path of the SQLite database in a data directory. */
export const databasePath = (dataDir: string): string => resolve(dataDir, 'gdn.db')
