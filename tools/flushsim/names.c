/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.c - what lies at an address.
 *
 * Design: static data by the program's own symbol table; the rest is per-CPU
 * areas and memory that was allocated, by node and offset.  Names say nothing
 * about where the host put things.
 */
#include "fs.h"

#include <elf.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

static const char *image;
static const Elf64_Sym *symbols;
static unsigned int nr_symbols;
static const char *strings;

static void use_section(const Elf64_Shdr *all, const Elf64_Shdr *s)
{
    if ( s->sh_type != SHT_SYMTAB )
        return;
    symbols = (const void *)(image + s->sh_offset);
    nr_symbols = s->sh_size / sizeof(*symbols);
    strings = image + all[s->sh_link].sh_offset;
}

static void load_symbols(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    off_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    unsigned int i;

    if ( fd < 0 || (size = lseek(fd, 0, SEEK_END)) < 0 )
        fs_fail("cannot read the program itself");
    image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    header = (const void *)image;
    sections = (const void *)(image + header->e_shoff);
    for ( i = 0; i < header->e_shnum; i++ )
        use_section(sections, &sections[i]);
}

static const Elf64_Sym *symbol_at(uintptr_t addr)
{
    unsigned int i;

    for ( i = 0; i < nr_symbols; i++ )
        if ( ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
             symbols[i].st_value < addr + 64 &&
             addr < symbols[i].st_value + symbols[i].st_size )
            return &symbols[i];
    return NULL;
}

uintptr_t fs_addr_of(const char *name, size_t *size)
{
    unsigned int i;

    if ( !image )
        load_symbols();
    for ( i = 0; i < nr_symbols; i++ )
        if ( ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
             !strcmp(strings + symbols[i].st_name, name) )
        {
            *size = symbols[i].st_size;
            return symbols[i].st_value;
        }
    fs_fail("no variable %s", name);
}

const char *fs_name_of(uintptr_t addr)
{
    static char text[96];
    const Elf64_Sym *s;

    if ( !image )
        load_symbols();
    if ( addr >= FS_ARENA )
    {
        snprintf(text, sizeof(text), "node%lu+%#lx",
                 (addr - FS_ARENA) / FS_NODE_SIZE,
                 (addr - FS_ARENA) % FS_NODE_SIZE);
        return text;
    }
    s = symbol_at(addr);
    if ( s )
        return strings + s->st_name;
    snprintf(text, sizeof(text), "%#lx", addr);
    return text;
}
