import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { codePlugin } from '../code.mjs'
import { diagramPlugin, diagramStyle } from '../diagrams.mjs'
import { linkPlugin, repositoryUrl } from '../links.mjs'
import { accessibleSearch, miniSearch } from '../search.mjs'
import { sidebar } from '../sidebar.mjs'

/** By their names on the site: pages in docs/site that include a file from elsewhere in the repository. */
const INCLUDED = { 'index.md': 'README.md', 'deploy.md': 'examples/deploy/README.md' }

const repository = repositoryUrl()

const icon = `data:image/svg+xml,${encodeURIComponent(await readFile(new URL('../../../src/explorer/icon.svg', import.meta.url), 'utf8'))}`

/** Returns the anchor that GitHub generates for a heading: the pages link to these. */
const githubAnchor = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

/** Returns the path from the root of the repository of the page that is rendered. */
function pageOf({ path, relativePath }) {
  const name = path.replaceAll('\\', '/').split('/docs/').at(-1)
  return INCLUDED[relativePath] ?? INCLUDED[name.replace(/^site\//, '')] ?? `docs/${name}`
}

export default defineConfig({
  lang: 'en',
  title: 'gdn',
  description: 'A command-line tool for developers who mint NFTs',
  srcDir: '..',
  outDir: fileURLToPath(new URL('../../../out/docs', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../node_modules/.cache/vitepress', import.meta.url)),
  rewrites: {
    ...Object.fromEntries(Object.keys(INCLUDED).map((name) => [`site/${name}`, name])),
    'commands/README.md': 'commands/index.md',
  },
  head: [
    ['link', { rel: 'icon', href: icon }],
    ['style', {}, diagramStyle],
  ],
  vite: { plugins: [accessibleSearch] },
  markdown: {
    linkify: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: githubAnchor },
    config: (md) => {
      md.use(linkPlugin, { pageOf, repository })
      md.use(diagramPlugin)
      md.use(codePlugin)
    },
  },
  transformPageData: ({ relativePath }) =>
    // A generated page is changed in the sources of its commands.
    relativePath.startsWith('commands/') ? { frontmatter: { editLink: false } } : undefined,
  themeConfig: {
    logo: icon,
    nav: [
      { text: 'Guides', link: '/drops', activeMatch: '^/(?!commands/|$)' },
      { text: 'Commands', link: '/commands/', activeMatch: '^/commands/' },
    ],
    sidebar: await sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch,
      },
    },
    ...(repository === undefined
      ? {}
      : {
          editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
          socialLinks: [{ icon: 'github', link: repository }],
        }),
  },
})
