declare const __GDN_VERSION__: string | undefined

/** Version of the package, inserted by the build. */
export const VERSION = typeof __GDN_VERSION__ === 'string' ? __GDN_VERSION__ : '0.0.0-source'
