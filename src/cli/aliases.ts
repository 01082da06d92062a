/** Replaces long flags that are other names of a flag: `--receiver-wallet-address=0x…` becomes `--receiver=0x…`. */
export function spellAliases(argv: readonly string[], aliases: Readonly<Record<string, string>>): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => {
    if ((end >= 0 && i > end) || !word.startsWith('--')) return word
    const at = word.indexOf('=')
    const name = at < 0 ? word : word.slice(0, at)
    const meant = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    return meant === undefined ? word : meant + word.slice(name.length)
  })
}
