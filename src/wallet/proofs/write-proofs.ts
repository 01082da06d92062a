import { lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { flagError, systemCode } from '../../core/errors.ts'
import { inChunks, type ProofSet, proofMembers, treeJson } from './proof-set.ts'

/** Number of hex digits that name a file with proofs. At most 4,096 files keep each small enough for a browser. */
const DIGITS = 3
const ROOT = 'root.json'
const TREE = 'tree.json'
const PROOFS = 'proofs'
const PROOF_FILE = /^[0-9a-f]{3}\.json$/

/**
 * Writes a folder with the root, the tree, and the proofs by the first digits of the address. Writes it under another
 * name and renames it, so that it is never incomplete.
 *
 * @param summary the content of root.json
 * @param options.replace whether to replace an earlier folder of proofs
 * @throws GdnError `usage` if the folder has other files, or is not to be replaced
 */
export async function writeProofs(
  path: string,
  set: ProofSet,
  summary: object,
  { replace, signal }: { replace: boolean; signal: AbortSignal },
): Promise<void> {
  await refuseOtherFiles(path, replace)
  await mkdir(dirname(path), { recursive: true })
  const draft = await mkdtemp(join(dirname(path), `.${basename(path)}.`))
  try {
    const content = join(draft, 'new')
    await mkdir(join(content, PROOFS), { recursive: true })
    await writeFile(join(content, ROOT), `${JSON.stringify(summary, null, 2)}\n`, { signal })
    await writeFile(join(content, TREE), treeJson(set), { signal })
    for (const [digits, indexes] of byDigits(set)) {
      const file = join(content, PROOFS, `${digits}.json`)
      await writeFile(file, inChunks(proofMembers(set, indexes), '{', '}\n'), { signal })
    }
    // Again, because writing can take a minute.
    if (await refuseOtherFiles(path, replace)) await rename(path, join(draft, 'old'))
    await rename(content, path)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Groups the indexes of receivers by the digits of their file. */
function byDigits({ receivers }: ProofSet): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [i, { address }] of receivers.entries()) {
    const digits = address.slice(2, 2 + DIGITS)
    const group = groups.get(digits)
    if (group === undefined) groups.set(digits, [i])
    else group.push(i)
  }
  return groups
}

/** Checks that the path is free, or that it may be replaced. Returns whether there is a folder. */
export async function refuseOtherFiles(path: string, replace: boolean): Promise<boolean> {
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (found === null) return false
  if (!found.isDirectory()) throw flagError('--out', `${path} is not a directory`, 'Use the path of a new directory.')
  const names = await readdir(path)
  if (names.length === 0) return true
  if (!(await hasOnlyProofs(path, names))) {
    throw flagError('--out', `${path} has files that are not proofs`, 'Use the path of a new directory.')
  }
  if (!replace) throw flagError('--out', `${path} already exists`, 'Use another directory, or add --force.')
  return true
}

async function hasOnlyProofs(path: string, names: readonly string[]): Promise<boolean> {
  if ([...names].sort().join() !== [PROOFS, ROOT, TREE].sort().join()) return false
  return (await readdir(join(path, PROOFS)).catch(() => [''])).every((name) => PROOF_FILE.test(name))
}
