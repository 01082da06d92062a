import type { TypedValue, ValueType } from '../command.ts'

const TYPE_BY_FLAG: Readonly<Record<string, ValueType>> = {
  '--profile': 'profile',
  '--contract': 'collection',
  '--run': 'run_name',
}

const TYPE_BY_PLACEHOLDER: Readonly<Record<string, ValueType>> = {
  file: 'file',
  path: 'file',
  'url|path': 'file',
  'file|address': 'file',
  dir: 'directory',
  url: 'url',
}

/** Returns the type of a flag's value: the type of its parser, or else a type inferred from its name or placeholder. */
export function findFlagType(long: string, placeholder: string, parsed: TypedValue | undefined): TypedValue {
  const knownType = TYPE_BY_FLAG[long] ?? TYPE_BY_PLACEHOLDER[placeholder]
  return parsed ?? { type: knownType ?? 'string' }
}

const TYPE_BY_ARGUMENT: Readonly<Record<string, ValueType>> = {
  run: 'run',
  'id|address|run': 'run',
  manifest: 'file',
  file: 'file',
  'id-or-address': 'collection',
  command: 'command',
  wallet: 'address',
}

/**
 * Returns the type of an argument: `word` if it must be one of several words, or else a type inferred from its name.
 */
export function findArgumentType(name: string, words: readonly string[] | undefined): TypedValue {
  return words === undefined ? { type: TYPE_BY_ARGUMENT[name] ?? 'string' } : { type: 'word', values: words }
}
