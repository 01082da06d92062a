/**
 * Returns the edit distance of two words. An edit inserts, deletes or replaces a character, or swaps two adjacent
 * characters.
 */
export function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i, ...new Array<number>(b.length).fill(0)])
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0
  for (let j = 0; j <= b.length; j += 1) (rows[0] as number[])[j] = j
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1]
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(i - 2, j - 2) + 1)
      const row = rows[i]
      if (row !== undefined) row[j] = best
    }
  }
  return at(a.length, b.length)
}

/**
 * Minimum length of compared names. Shorter names often differ in only one letter without being misspelled, such as Hat
 * and Hut.
 */
const MIN_COMPARED = 4
/** Maximum length of compared names. */
const MAX_LETTERS = 64
const lettersOf = (name: string) => name.replaceAll(/\d/g, '')

/** Returns whether a name may be a misspelling of another name. Returns false if the names differ only in digits. */
export function mayBeMisspelled(name: string, meant: string): boolean {
  if (name.length < MIN_COMPARED || name.length > MAX_LETTERS) return false
  const edits = name.length < 2 * MIN_COMPARED ? 1 : 2
  if (Math.abs(meant.length - name.length) > edits || lettersOf(meant) === lettersOf(name)) return false
  return distance(name, meant) <= edits
}

/**
 * Returns the known word that the user probably meant, for a "did you mean" hint. This is the most similar word, or the
 * only known word that begins with the given word.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined
  const lower = word.toLowerCase()
  let best: string | undefined
  let fewest = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const name of candidates) {
    // Skip words whose length differs too much, because each additional or missing character is an edit.
    if (Math.abs(name.length - word.length) >= fewest) continue
    const edits = distance(lower, name.toLowerCase())
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  if (best !== undefined) return best
  const [begun, ...otherMatches] =
    lower.length < 3 ? [] : candidates.filter((name) => name.toLowerCase().startsWith(lower))
  return otherMatches.length === 0 ? begun : undefined
}
