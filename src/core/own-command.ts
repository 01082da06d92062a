import { argv, execPath, getBuiltinModule } from 'node:process'

type Sea = { isSea(): boolean }

/** Returns whether this process is the executable of gdn, which contains Node.js and takes none of its flags. */
export const isExecutable = (): boolean => (getBuiltinModule('node:sea') as Sea | undefined)?.isSea() ?? false

/** A program and its first arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** Returns how to start gdn again: the executable alone, or Node.js with the script that it runs. */
export const ownCommand = (): Command => (isExecutable() ? [execPath] : [execPath, argv[1] ?? ''])
