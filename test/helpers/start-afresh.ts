import { configureGlobal } from 'fast-check'
import { afterAll, afterEach, vi } from 'vitest'
import { cleanUpFile, cleanUpTest } from './clean-up.ts'

afterEach(cleanUpTest)
afterAll(cleanUpFile)

// Files share processes: what the file before replaced is put back.
vi.restoreAllMocks()
vi.useRealTimers()
vi.unstubAllEnvs()
vi.unstubAllGlobals()

// Property tests print the seed of a failure. GDN_SEED replays it.
const seed = process.env.GDN_SEED
if (seed !== undefined) configureGlobal({ seed: Number(seed) })
