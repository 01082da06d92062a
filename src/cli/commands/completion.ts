import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { GdnCommand, wordArgument } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addCommonFlags } from '../flags/common.ts'
import { packageRoot } from '../package-root.ts'

/** The file of each shell in the package's completions/, by the name that the shell wants it to have. */
const FILES = { bash: 'gdn.bash', zsh: '_gdn', fish: 'gdn.fish', powershell: 'gdn.ps1' } as const
export type Shell = keyof typeof FILES
export const SHELLS = Object.keys(FILES) as Shell[]

export function command(deps: Deps, run = completion): GdnCommand {
  const completionCommand = new GdnCommand({
    about:
      'Commands, flags and their values are completed, and by name what this machine knows: profiles, runs, collections, wallets. Nothing is asked of a server. Install it with one of the lines below, then open a new shell; after an update of gdn, install it again where it was saved to a file.',
    examples: [
      ['bash: in ~/.bashrc', 'source <(gdn completion bash)'],
      [
        'bash, with the package bash-completion: loaded when needed',
        'mkdir -p ~/.local/share/bash-completion/completions',
        BASH_LAZY,
      ],
      ['zsh: in ~/.zshrc, behind compinit', 'autoload -Uz compinit && compinit', 'source <(gdn completion zsh)'],
      [
        'zsh, into a folder: ~/.zshrc has fpath+=~/.zfunc before compinit',

        'mkdir -p ~/.zfunc',
        'gdn completion zsh > ~/.zfunc/_gdn',
      ],
      ['fish', 'mkdir -p ~/.config/fish/completions', 'gdn completion fish > ~/.config/fish/completions/gdn.fish'],
      ['PowerShell: in $PROFILE', 'gdn completion powershell | Out-String | Invoke-Expression'],
    ],
  })
  wordArgument(completionCommand, '<shell>', SHELLS)
  addCommonFlags(completionCommand)
  return completionCommand.action(async (shell: string) => await run(deps, shell)) as GdnCommand
}

const BASH_LAZY = 'gdn completion bash > ~/.local/share/bash-completion/completions/gdn'

export async function completion({ io }: Pick<Deps, 'io'>, word: string): Promise<void> {
  const shell = SHELLS.find((known) => known === word)
  if (shell === undefined) {
    const near = word === 'pwsh' ? 'powershell' : nearest(word, SHELLS)
    throw new GdnError('usage', `there are no completions for ${JSON.stringify(word.slice(0, 60))}`, {
      hint: near === undefined ? `there are some for ${SHELLS.join(', ')}` : `did you mean ${near}?`,
    })
  }
  await io.data(await readFile(join(packageRoot(), 'completions', FILES[shell]), 'utf8'))
}
