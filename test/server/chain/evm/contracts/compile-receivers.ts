import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CompiledContract, compileSolidity, inputHash, readSources } from '../../../../../src/build/contracts.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const CACHE = path.join(HERE, '../../../../.tmp')

/** The receiver contracts of the tests, compiled once for all test files. */
export function compileReceivers(): Record<string, CompiledContract> {
  const sources = readSources(HERE)
  const file = path.join(CACHE, `receivers-${inputHash(sources).slice(0, 16)}.json`)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    const compiled = compileSolidity(sources, HERE)
    mkdirSync(CACHE, { recursive: true })
    const temporary = `${file}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(compiled))
    renameSync(temporary, file)
    return compiled
  }
}
