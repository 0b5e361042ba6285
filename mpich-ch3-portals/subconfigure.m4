[#] start of __file__
dnl SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only

dnl _PREREQ handles the former role of mpichprereq, setup_device, etc
AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_CONDITIONAL([BUILD_CH3_PORTALS],[test "X$device_name" = "Xch3" -a "X$channel_name" = "Xportals"])
    AM_COND_IF([BUILD_CH3_PORTALS],[
        AC_MSG_NOTICE([RUNNING PREREQ FOR ch3:portals])
        # Calls are serialised by MPICH's global lock, which the progress loop gives up while it waits.
        MPID_MAX_THREAD_LEVEL=MPI_THREAD_MULTIPLE
        AC_ARG_WITH([portals],
            [AS_HELP_STRING([--with-portals=PREFIX], [where libportals and portals3.h are installed])],
            [], [with_portals=])
        PORTALS_CPPFLAGS=
        if test -n "$with_portals" -a "x$with_portals" != xyes ; then
            PORTALS_CPPFLAGS="-I$with_portals/include"
            PAC_APPEND_FLAG([-L$with_portals/lib],[WRAPPER_LDFLAGS])
            PAC_APPEND_FLAG([-L$with_portals/lib],[LDFLAGS])
        fi
        AC_SUBST([PORTALS_CPPFLAGS])
    ])
])

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_CH3_PORTALS],[
AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch3:portals])

ptl_save_CPPFLAGS="$CPPFLAGS"
CPPFLAGS="$CPPFLAGS $PORTALS_CPPFLAGS"
AC_CHECK_HEADER([portals3.h],[],
    [AC_MSG_ERROR([portals3.h not found; give the place of libportals by --with-portals=PREFIX])])
CPPFLAGS="$ptl_save_CPPFLAGS"
AC_CHECK_LIB([portals],[PtlPutRegion],[PAC_PREPEND_FLAG([-lportals],[WRAPPER_LIBS])],
    [AC_MSG_ERROR([libportals not found; give its place by --with-portals=PREFIX])])

])dnl end AM_COND_IF(BUILD_CH3_PORTALS,...)
])dnl end _BODY

[#] end of __file__
