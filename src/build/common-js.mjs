// The bundle's chunks as CommonJS. esbuild splits ES modules only, and on Node 20 the loader of those costs a command
// that prints one line a quarter of what bare node takes, and one that loads twenty chunks a half.
import { transform } from 'esbuild'

const HERE = '__gdnHere'
const WHERE = `const ${HERE}=require('node:url').pathToFileURL(__filename).href;`

/**
 * A chunk of ES modules as a CommonJS module of the same name: `import()` becomes a `require` that happens when it is
 * reached, `import.meta.url` the place of the file.
 *
 * @param text as esbuild wrote it; must not await at its top level
 */
export async function toCommonJs(text) {
  const hasPlace = text.includes('import.meta.url')
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
    logLevel: 'error',
    ...(hasPlace ? { define: { 'import.meta.url': HERE }, banner: WHERE } : {}),
  })
  return code
}
