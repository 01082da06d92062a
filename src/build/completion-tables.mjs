import { createHash } from 'node:crypto'

// The command tree for completions, in a format that all shells can parse:
//
//   a flag     --output -o =output table, json, …     name, short form (or -), argument, summary
//   a value    polygon                                value, a space, and a description
//
// The argument of a flag or command is one word: `-` none, `text` any text, `file`, `dir`, `pairfile` (`key=path`),
// `command`, `=name` one word of a list, `,name` several of them, `@kind` the output of `gdn __complete kind` on this
// machine. `~` instead of the short form marks an alias of a flag, which is accepted but not suggested. A trailing `+`
// means that the flag or argument may be repeated.

const DYNAMIC = {
  profile: '@profiles',
  run: '@runs',
  run_name: '@run-names',
  collection: '@collections',
  address: '@wallets',
}
const PLAIN = { boolean: '-', file: 'file', directory: 'dir', command: 'command' }

/** Flags that may precede the command. */
const LEADING = ['--profile', '--base-url', '--state-dir', '--output', '--fields']

export function completionTables(tree) {
  const values = new Map()
  const bundles = new Map()
  const takes = taker(values)
  const commands = tree.commands.map(({ name, flags, arguments: args }) => ({
    name,
    bundles: bundlesOf(flags, takes, bundles),
    takes: args.map((arg) => `${takes(arg, arg.name)}${arg.variadic ? '+' : ''}`).join(' '),
  }))
  const leading = tree.commands
    .flatMap(({ flags }) => flags)
    .filter(({ name }, i, all) => LEADING.includes(name) && all.findIndex((flag) => flag.name === name) === i)
  const ofAll = tree.flags.map((flag) => flagLine(flag, takes))
  bundles.set('gdn', [...ofAll, ...leading.flatMap((flag) => flagLine(flag, takes))].join('\n'))
  bundles.set('help', [...ofAll, '--json - - The command tree as JSON'].join('\n'))
  return { words: wordsOf(tree), commands, bundles, values }
}

/** Returns the words that are valid at the beginning of a command line, after each noun, and after `help`. */
function wordsOf({ groups, commands, topics }) {
  const entries = groups.flatMap((group) => group.entries)
  const first = entries.map(({ name, summary }) => `${name} ${summary}`)
  const words = new Map([['', [...first, 'help Help for commands and topics, and search'].join('\n')]])
  for (const { name } of entries.filter((entry) => !entry.is_command)) {
    const verbs = commands.filter((command) => command.name.startsWith(`${name} `))
    words.set(name, verbs.map((verb) => `${verb.name.slice(name.length + 1)} ${verb.summary}`).join('\n'))
  }
  const pages = topics.filter(({ name }) => !entries.some((entry) => entry.name === name))
  words.set('help', [...pages.map(({ name, summary }) => `${name} ${summary}`), ...first].join('\n'))
  return words
}

/** Names each word list after the first flag that uses it. Equal lists are stored once. */
function taker(values) {
  return ({ type, values: words, placeholder }, name) => {
    if (type === 'pair') return placeholder.includes('path') ? 'pairfile' : 'text'
    if (type !== 'word' && type !== 'words') return DYNAMIC[type] ?? PLAIN[type] ?? 'text'
    const text = words.join('\n')
    const base = name.replace(/^--/, '')
    let id = [...values].find(([, known]) => known === text)?.[0]
    for (let n = 1; id === undefined; n++) {
      const free = n === 1 ? base : `${base}-${n}`
      if (!values.has(free)) id = free
    }
    values.set(id, text)
    return `${type === 'word' ? '=' : ','}${id}`
  }
}

function flagLine(flag, takes) {
  const kind = `${takes(flag, flag.name)}${flag.repeatable ? '+' : ''}`
  const summary = flag.summary.replaceAll(/\s+/g, ' ')
  const others = flag.aliases.map((alias) => `${alias} ~ ${kind} ${summary}`)
  return [`${flag.name} ${flag.short ?? '-'} ${kind} ${summary}`, ...others]
}

/** Stores the flags of a command by the groups of its help. Many commands share a group, which is stored once. */
function bundlesOf(flags, takes, bundles) {
  const groups = new Map()
  for (const flag of flags) groups.set(flag.group, [...(groups.get(flag.group) ?? []), ...flagLine(flag, takes)])
  return [...groups].map(([group, lines]) => {
    const text = lines.join('\n')
    // The name contains a digest of the content, so that a new command doesn't change other names.
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 6)
    const id = `${group.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-${digest}`
    bundles.set(id, text)
    return id
  })
}
