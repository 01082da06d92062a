import { isExecutable } from '../../core/own-command.ts'

/** Returns instructions to install a missing optional package. */
export const howToInstall = (packageName: string): string =>
  isExecutable()
    ? 'Unpack the gdn archive again, and keep its files together.'
    : `Run \`npm install ${packageName}\` where gdn is installed (add -g if it is installed globally), or reinstall gdn without --omit=optional.`
