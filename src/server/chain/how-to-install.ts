import { isExecutable } from '../../core/own-command.ts'

/** Returns how a user gets an optional package that is missing. */
export const howToInstall = (wanted: string): string =>
  isExecutable()
    ? 'Unpack the archive of gdn again, and keep its files together.'
    : `Run \`npm install ${wanted}\` beside gdn (with -g for a global installation), or reinstall gdn without --omit=optional.`
