import { join } from 'node:path'
import { build } from 'esbuild'
import { BROWSERS } from './explorer.mjs'
import { root } from './paths.mjs'

const from = join(root, 'src/cli/sheet/browser')

/** Bundles the script of the pages that `batch preview` and `batch report` write, as a bundler definition. */
export async function defineSheetScript() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(from, 'main.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: BROWSERS,
    legalComments: 'none',
    tsconfig: join(from, 'tsconfig.json'),
    write: false,
    logLevel: 'error',
  })
  return { __GDN_SHEET_SCRIPT__: JSON.stringify(outputFiles[0].text.trim()) }
}
