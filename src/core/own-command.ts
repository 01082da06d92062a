import { argv, execPath, getBuiltinModule } from 'node:process'

type Sea = { isSea(): boolean }

/** Returns whether this process is the gdn executable, which contains Node.js but doesn't accept Node.js flags. */
export const isExecutable = (): boolean => (getBuiltinModule('node:sea') as Sea | undefined)?.isSea() ?? false

/** A program and its first arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** Returns the command that starts gdn again: the executable alone, or Node.js and its script. */
export const ownCommand = (): Command => (isExecutable() ? [execPath] : [execPath, argv[1] ?? ''])
