import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Bundles a process for tests, so that Node can run it.
 *
 * @param from the test's `import.meta.url`, from which optional packages are resolved
 */
export async function bundleProcess(entry: URL, outfile: string, from: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    external: ['libsql'],
    define: {
      'import.meta.url': JSON.stringify(from),
      'import.meta.filename': JSON.stringify(fileURLToPath(from)),
    },
    // CommonJS packages in the bundle require Node's own modules.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(${JSON.stringify(from)})`,
    },
  })
}
