declare const __GDN_VERSION__: string | undefined

/** The version of the package; the build writes it in. */
export const VERSION = typeof __GDN_VERSION__ === 'string' ? __GDN_VERSION__ : '0.0.0-source'
