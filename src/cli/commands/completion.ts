import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { GdnCommand, wordArgument } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addCommonFlags } from '../flags/common.ts'
import { packageRoot } from '../package-root.ts'

/** File of each shell in completions/ of the package, with the name that the shell expects. */
const FILES = { bash: 'gdn.bash', zsh: '_gdn', fish: 'gdn.fish', powershell: 'gdn.ps1' } as const
export type Shell = keyof typeof FILES
export const SHELLS = Object.keys(FILES) as Shell[]

export function command(deps: Deps, run = completion): GdnCommand {
  const completionCommand = new GdnCommand({
    about:
      'Completes commands, flags, their values, and the names of profiles, runs, collections and wallets on this machine. It contacts no server. Install it with one of the examples, then open a new shell. If you saved it to a file, save it again after you update gdn.',
    examples: [
      ['bash: in ~/.bashrc', 'source <(gdn completion bash)'],
      [
        'bash with the package bash-completion, loaded on demand',
        'mkdir -p ~/.local/share/bash-completion/completions',
        BASH_LAZY,
      ],
      ['zsh: in ~/.zshrc, after compinit', 'autoload -Uz compinit && compinit', 'source <(gdn completion zsh)'],
      [
        'zsh, in a folder: ~/.zshrc has fpath+=~/.zfunc before compinit',

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
    throw new GdnError('usage', `unknown shell ${JSON.stringify(word.slice(0, 60))}`, {
      hint: near === undefined ? `Use one of ${SHELLS.join(', ')}.` : `Did you mean ${near}?`,
    })
  }
  await io.data(await readFile(join(packageRoot(), 'completions', FILES[shell]), 'utf8'))
}
