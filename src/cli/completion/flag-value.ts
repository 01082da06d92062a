/** The value of a flag among words as they were typed, without the quotes around it. */
export function flagValue(words: readonly string[], ...names: string[]): string | undefined {
  for (const [i, word] of words.entries()) {
    const name = names.find((one) => word === one || word.startsWith(`${one}=`))
    if (name === undefined) continue
    const value = word === name ? words[i + 1] : word.slice(name.length + 1)
    return value?.replace(/^(['"])(.*)\1$/s, '$2')
  }
  return undefined
}
